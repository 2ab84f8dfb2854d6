-- tokens: counts the tokens that models read and wrote for a user, and for an account, as far as engines said. The
-- hashes tokens:<user> and account_tokens:<account> have two fields for each of the last DAYS days on which there
-- were any: "<day> p" (read: of prompts) and "<day> c" (written: of completions), where <day> counts from 1970, UTC.
-- A hash expires once no day of it counts. A shard has what was answered there.
local call = redis.call
local find, floor, format, match, min = string.find, math.floor, string.format, string.match, math.min

local DAYS = 30 -- today is one of them
local DAY_MS = 86400000
local ANSWER_MAX = 1000000000 -- of one answer; an engine may say anything

local function first_day(turn)
    return floor(turn.now_ms / DAY_MS) - DAYS + 1
end

local function drop_old(turn, key)
    local first, fields = first_day(turn), call('HKEYS', key)
    for i = 1, #fields do
        if tonumber(match(fields[i], '^%d+')) < first then call('HDEL', key, fields[i]) end
    end
end

local function add_to(turn, key, prompt, completion)
    local day = format('%d', floor(turn.now_ms / DAY_MS))
    if call('HINCRBY', key, day .. ' p', prompt) == prompt then -- probably the first ones of the day
        drop_old(turn, key)
        call('EXPIRE', key, DAYS * 86400)
    end
    call('HINCRBY', key, day .. ' c', completion)
end

-- Counts what an engine said of an answer (the members FinishReason and Usage as JSON) for the user who asked. Returns
-- "<read> <written>", nil if it did not say.
local function add(turn, account, user, facts)
    local _, at = find(facts, '"prompt_tokens":', 1, true)
    if not at then return nil end
    local prompt, completion = match(facts, '^(%d+),"completion_tokens":(%d+)}', at + 1)
    prompt, completion = min(tonumber(prompt), ANSWER_MAX), min(tonumber(completion), ANSWER_MAX)
    add_to(turn, turn.prefix .. 'tokens:' .. user, prompt, completion)
    add_to(turn, turn.prefix .. 'account_tokens:' .. account, prompt, completion)
    return format('%d %d', prompt, completion)
end

-- The sums of a hash: read and written.
local function sums(turn, key)
    local first, all, of = first_day(turn), call('HGETALL', key), {p = 0, c = 0}
    for i = 1, #all, 2 do
        local day, kind = match(all[i], '^(%d+) (%l)$')
        if tonumber(day) >= first then of[kind] = of[kind] + tonumber(all[i + 1]) end
    end
    return format('%d', of.p), format('%d', of.c)
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

return {add = add, of_user = of_user, of_account = of_account, forget = forget}
