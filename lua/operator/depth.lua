-- depth: returns how much waits on this shard, by model, and how many engines serve it.
-- Things that take long to read (oldest, engines, polls) are read once a second, however many ask.
-- KEYS: meta, models, depths, turns:<model>, open:<model>:<user>, leases, lookups, idle, engines, batches_n, depth
--   string with TTL.
-- Wakes: nobody.
-- Bound: MODELS_MAX models, DEPTH_USERS users, ENGINES_MAX engines; no text of clients but names.
-- Lane: slow.  Home: every.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments: none.
-- Replies: replay | ok/depth/claims in flight/open lookups/parked polls/oldest age ms or ''/batches that have
--   not ended/their lines without a result/n, then n accounts with engines: account/waiting/working/resting; then per
--   model with Open queries: model/depth/oldest age ms
local batches = require('batches/batches')
local presence = require('queue/presence')
local bounds = require('turn/bounds')
local counters = require('turn/counters')
local call = redis.call
local format, match = string.format, string.match
local concat, sort = table.concat, table.sort
local floor, max = math.floor, math.max

local DEPTH_USERS = 2000 -- looked at for the oldest query: those whose turns come first
local KEPT_MS = 1000     -- so long a costly look is kept
local CHEAP = 200        -- so many users, engines and polls are looked at each time

-- Since when the oldest query for that model waits (us), of `most` users. Returns how many it looked at, too.
local function oldest_of(turn, model, most)
    local P, oldest = turn.prefix, nil
    local users = call('ZRANGE', P .. 'turns:' .. model, 0, most - 1)
    for i = 1, #users do
        local at = tonumber(call('ZRANGE', P .. 'open:' .. model .. ':' .. users[i], 0, 0, 'WITHSCORES')[2])
        if at and (not oldest or at < oldest) then oldest = at end
    end
    bounds.note_read(turn, #users + 2, 0)
    return oldest, #users
end

local function age_of(turn, at_us)
    return at_us and format('%d', max(0, floor(turn.now_ms - at_us / 1000))) or ''
end

-- Appends the models to `text`. Returns the age of the oldest query, and how much was looked at.
local function put_models(turn, models, text)
    local depth, users_left, oldest = max(counters.load(turn).depth, 0), DEPTH_USERS, nil
    local counts, others = {}, 0
    for i = 1, #models do
        counts[i] = models[i] ~= 'default' and tonumber(call('HGET', turn.prefix .. 'depths', models[i])) or 0
        others = others + counts[i]
    end
    for i = 1, #models do
        local n = models[i] == 'default' and max(0, depth - others) or counts[i]
        -- Each model has its part of the users, or the first would leave nothing to the others.
        local at, scanned = oldest_of(turn, models[i], max(1, floor(users_left / (#models - i + 1))))
        users_left = users_left - scanned
        if at and (not oldest or at < oldest) then oldest = at end
        text[#text + 1], text[#text + 2], text[#text + 3] = models[i], format('%d', n), age_of(turn, at)
    end
    return age_of(turn, oldest), DEPTH_USERS - users_left + #models
end

-- Appends the accounts with engines to `text`. Returns how many engines were looked at.
local function put_engines(turn, text)
    local engines, accounts, names = call('HGETALL', turn.prefix .. 'engines'), {}, {}
    for i = 1, #engines, 2 do
        local state = presence.state_of(turn, engines[i + 1])
        if state then
            local account = match(engines[i], '^%S+')
            if not accounts[account] then
                names[#names + 1], accounts[account] = account, {waiting = 0, working = 0, resting = 0}
            end
            accounts[account][state] = (accounts[account][state] or 0) + 1
        end
    end
    sort(names)
    text[#text + 1] = #names
    for i = 1, #names do
        local one = accounts[names[i]]
        text[#text + 1] = names[i] .. '\n' .. one.waiting .. '\n' .. one.working .. '\n' .. one.resting
    end
    bounds.note_read(turn, #engines / 5, 0)
    return #engines / 2
end

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local kept = call('GET', P .. 'depth')
    if kept then return kept end
    local models = call('SMEMBERS', P .. 'models')
    sort(models)
    local text, of_models, parked = {}, {}, 0
    local oldest, scanned = put_models(turn, models, of_models)
    local credits = call('ZRANGE', P .. 'idle', 0, -1, 'WITHSCORES')
    for i = 2, #credits, 2 do parked = parked + floor(credits[i]) end
    text[1], text[2], text[3] = 'ok', format('%d', max(counters.load(turn).depth, 0)), call('ZCARD', P .. 'leases')
    text[4], text[5], text[6] = call('ZCARD', P .. 'lookups'), format('%d', parked), oldest
    text[7], text[8] = batches.counts(turn)
    scanned = scanned + put_engines(turn, text) + #credits / 2
    for i = 1, #of_models do text[#text + 1] = of_models[i] end
    local reply = concat(text, '\n')
    if scanned > CHEAP and not turn.is_full then call('SET', P .. 'depth', reply, 'PX', KEPT_MS) end
    return reply
end

return {depth = verb}
