-- tokens: counts the tokens that models read and wrote for a user, and for an account by model, as far as engines said
-- or as estimated (account/charges.lua). The hash tokens:<user> has two fields for each of the last DAYS days on which
-- there were any: "<day> p" (read: of prompts) and "<day> c" (written: of completions), where <day> counts from 1970,
-- UTC. The hash account_tokens:<account> has "<day> p <model>", "<day> c <model>", "<day> n <model>" (requests) and
-- "<day> e <model>" (requests whose tokens are estimated). A hash expires once no day of it counts. A shard has what
-- was answered there.
local bounds = require('turn/bounds')
local call = redis.call
local find, floor, format, match, min = string.find, math.floor, string.format, string.match, math.min

local DAYS = 30 -- today is one of them
local DAY_MS = 86400000
local ANSWER_MAX = 1000000000 -- of one answer; an engine may say anything
local ROWS_FIELDS_MAX = 4096  -- of an account; what its other models use is added up
local OTHER_MODELS = '%'      -- under this name, which is nobody's
local FIELD_BYTES = 24        -- of a field or a value, about

local function first_day(turn)
    return floor(turn.now_ms / DAY_MS) - DAYS + 1
end

local function drop_old(turn, key)
    local first, fields = first_day(turn), call('HKEYS', key)
    for i = 1, #fields do
        if tonumber(match(fields[i], '^%d+')) < first then call('HDEL', key, fields[i]) end
    end
end

local function today(turn)
    return format('%d', floor(turn.now_ms / DAY_MS))
end

local function clean(turn, key)
    drop_old(turn, key)
    call('EXPIRE', key, DAYS * 86400)
end

local function count_for_user(turn, user, prompt, completion)
    local key, day = turn.prefix .. 'tokens:' .. user, today(turn)
    if call('HINCRBY', key, day .. ' p', prompt) == prompt then clean(turn, key) end -- probably the first of the day
    call('HINCRBY', key, day .. ' c', completion)
end

local function count_for_account(turn, account, model, prompt, completion, is_estimated)
    local key, day = turn.prefix .. 'account_tokens:' .. account, today(turn)
    if call('HINCRBY', key, day .. ' n ' .. model, 1) == 1 then
        clean(turn, key)
        if call('HLEN', key) > ROWS_FIELDS_MAX and model ~= OTHER_MODELS then
            call('HDEL', key, day .. ' n ' .. model)
            return count_for_account(turn, account, OTHER_MODELS, prompt, completion, is_estimated)
        end
    end
    call('HINCRBY', key, day .. ' p ' .. model, prompt)
    call('HINCRBY', key, day .. ' c ' .. model, completion)
    if is_estimated then call('HINCRBY', key, day .. ' e ' .. model, 1) end
end

-- Counts what one query has used.
local function count(turn, account, user, model, prompt, completion, is_estimated)
    count_for_user(turn, user, prompt, completion)
    count_for_account(turn, account, model, prompt, completion, is_estimated)
end

-- Returns the tokens read and written that an engine said of an answer (the members FinishReason and Usage as JSON);
-- nil if it said none.
local function said(facts)
    local _, at = find(facts, '"prompt_tokens":', 1, true)
    if not at then return nil end
    local prompt, completion = match(facts, '^(%d+),"completion_tokens":(%d+)}', at + 1)
    return min(tonumber(prompt), ANSWER_MAX), min(tonumber(completion), ANSWER_MAX)
end

local function as_text(prompt, completion)
    return format('%d %d', prompt, completion)
end

-- The sums of a hash: read and written, of all models.
local function sums(turn, key)
    local first, all, of = first_day(turn), call('HGETALL', key), {p = 0, c = 0, n = 0, e = 0}
    for i = 1, #all, 2 do
        local day, kind = match(all[i], '^(%d+) (%l)')
        if tonumber(day) >= first then of[kind] = of[kind] + tonumber(all[i + 1]) end
    end
    return format('%d', of.p), format('%d', of.c)
end

-- Puts the rows of an account of the last `days`, as account/account_usage.lua has them.
local function put_rows(turn, account, days, text)
    local first, rows, names = floor(turn.now_ms / DAY_MS) - min(days, DAYS) + 1, {}, {}
    local all = call('HGETALL', turn.prefix .. 'account_tokens:' .. account)
    bounds.note_read(turn, 0, #all * FIELD_BYTES)
    for i = 1, #all, 2 do
        local day, kind, model = match(all[i], '^(%d+) (%l) ?(%S*)$')
        if tonumber(day) >= first then
            local name = day .. ' ' .. (model == '' and OTHER_MODELS or model)
            if not rows[name] then
                rows[name], names[#names + 1] = {n = 0, p = 0, c = 0, e = 0}, name
            end
            rows[name][kind] = rows[name][kind] + tonumber(all[i + 1])
        end
    end
    for i = 1, #names do
        local row = rows[names[i]]
        text[#text + 1] = names[i] .. format(' %d %d %d %d', row.n, row.p, row.c, row.e)
    end
end

local function of_user(turn, user)
    return sums(turn, turn.prefix .. 'tokens:' .. user)
end

local function of_account(turn, account)
    return sums(turn, turn.prefix .. 'account_tokens:' .. account)
end

local function forget(turn, user)
    call('UNLINK', turn.prefix .. 'tokens:' .. user)
end

return {
    count = count, said = said, as_text = as_text, put_rows = put_rows, of_user = of_user, of_account = of_account,
    forget = forget,
}
