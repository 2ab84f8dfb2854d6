-- idle: the nodes that hold parked polls. Every parked poll is a credit of its node and class in the zset `idle`
-- ("<node> <class>" -> credits), or in `idle_lookups` if it waits for a lookup. Parking grants a credit, a hand-over
-- uses one up, and a poll that ends takes its own back, so a hand-over goes to exactly one node and finds a poll there.
-- A class is "<account>|<models>", models "*" or "a,b", "?" for lookups: the engine's account is known at hand-over, so
-- it can be recorded as the holder of the lease. Engines take turns in rounds: credits that existed when a round began
-- are due and are used up before any other. A credit granted during a round is due in the next. The fraction of a score
-- counts the due ones in millionths: 3.000002 means three credits, two of them due. Nodes serve the poll that has
-- waited longest, so the due polls are their oldest. Engines that name a query's model have rounds of their own, before
-- those that take any.
-- Credits are hints: a node reports them again every few seconds (queue/sync.lua), a node without a subscriber is
--   removed, and a claim that reaches a node without a poll is given back.
local apis = require('queue/apis')
local fallback = require('queue/fallback')
local call = redis.call
local byte, find, format, match = string.byte, string.find, string.format, string.match
local floor, min = math.floor, math.min

local QUERIES, LOOKUPS = 'idle', 'idle_lookups' -- keys, and what the turn has read of each
local IDLE_MAX = 128 -- entries looked at a turn; the slow rescan serves those after them
local SCANS_MAX = 5000 -- of models and Open queries, for what a turn hands over unasked; the next sync continues
local THERE_MS = 30000 -- a poll that is parked is stated every few seconds
local DUE_UNIT, DUE_MAX = 1000000, 999999

local function is_for_lookups(class)
    return byte(class, -1) == 63 -- '?', which no name of a model holds
end

-- The entries that the turn has read so far: a list, which also has them by member.
local function entries_of(turn, key)
    local entries = turn[key] or {}
    turn[key] = entries
    return entries
end

-- An entry whose score is not known yet: its credits are those that this turn grants.
local function put_entry(entries, member)
    local node, class = match(member, '^(%S+) (.+)$')
    local account, models = match(class, '^([^|]+)|(%S+)$')
    local entry = {
        member = member, node = node, class = class, account = account, models = models, credits = 0, due = 0,
        stored = 0, stored_due = 0, is_read = false,
    }
    entries[#entries + 1], entries[member] = entry, entry
    return entry
end

local function set_score(entry, score)
    local credits = floor(score)
    local due = score == credits and 0 or floor((score - credits) * DUE_UNIT + 0.5)
    entry.stored, entry.stored_due, entry.is_read = credits, due, true
    entry.credits, entry.due = credits + entry.credits, due
end

local function read(turn, key, entry)
    if entry.is_read then return end
    set_score(entry, tonumber(call('ZSCORE', turn.prefix .. key, entry.member)) or 0)
end

local function key_of(class)
    return is_for_lookups(class) and LOOKUPS or QUERIES
end

-- The entry of this node's class. It is not read: the common turn only grants credits.
local function own_entry(turn, class)
    local key, member = key_of(class), turn.node .. ' ' .. class
    local entries = entries_of(turn, key)
    local entry = entries[member]
    if entry then return entry end
    entry = put_entry(entries, member)
    if entries.is_read then read(turn, key, entry) end
    return entry
end

local function credits_of(turn, entry)
    read(turn, key_of(entry.class), entry)
    return entry.credits
end

-- Reads the scores of the entries that the turn has.
local function read_known(turn, key)
    local entries = entries_of(turn, key)
    if entries.is_read then return end
    for i = 1, #entries do read(turn, key, entries[i]) end
end

-- Reads all entries. Returns them.
local function load(turn, key)
    local entries = entries_of(turn, key)
    if entries.is_read then return entries end
    read_known(turn, key)
    entries.is_read = true
    local got = call('ZREVRANGE', turn.prefix .. key, 0, IDLE_MAX - 1, 'WITHSCORES')
    for i = 1, #got, 2 do
        if not entries[got[i]] then set_score(put_entry(entries, got[i]), tonumber(got[i + 1])) end
    end
    return entries
end

local function set_credits(entry, credits)
    entry.credits, entry.due = credits, min(entry.due, credits)
end

-- A poll was parked.
local function grant(entry)
    entry.credits = entry.credits + 1
end

-- A poll gets something: one that is due, as it is the oldest.
local function take(entry)
    entry.credits = entry.credits - 1
    if entry.due > 0 then entry.due = entry.due - 1 end
end

-- Puts back what was taken for a hand-over without a query.
local function put_back(entry)
    entry.credits, entry.due = entry.credits + 1, entry.due + 1
end

-- Does a class have a parked poll for queries, as far as the turn knows without looking?
local function has_credit(turn)
    local entries = entries_of(turn, QUERIES)
    for i = 1, #entries do
        if entries[i].credits > 0 then return true end
    end
    return false
end

-- Is that model in the list? Engines that take any model ('*') name none, and nobody names `default`.
local function is_listed(models, model)
    return find(',' .. models .. ',', ',' .. model .. ',', 1, true) ~= nil
end

-- Is an engine that asked for `models` one for that model? `default` is for all.
local function names_model(models, model)
    return (models == '*' and not apis.is_of_api(model)) or model == 'default' or is_listed(models, model)
end

-- Does it take queries for that model? With no engine for it any does.
local function takes_model(turn, models, model)
    return names_model(models, model) or fallback.has_fallen(turn, model) or false
end

local function lists_model(_, models, model)
    return is_listed(models, model)
end

local function is_alive(turn, other)
    local is_alive_at = turn.is_alive_at or {}
    turn.is_alive_at = is_alive_at
    local alive = is_alive_at[other]
    if alive == nil then
        alive = tonumber(call('PUBSUB', 'NUMSUB', turn.prefix .. 'node:' .. other)[2]) > 0
        is_alive_at[other] = alive
    end
    return alive
end

-- `takes`: takes_model or lists_model. One with a credit that is due: this node's own first, which cost no message.
local function find_own_due(turn, entries, model, takes)
    local node = turn.node
    for i = 1, #entries do
        local entry = entries[i]
        if entry.due > 0 and entry.node == node and takes(turn, entry.models, model) then return entry end
    end
    return nil
end

local function find_due(turn, entries, model, takes)
    local own = find_own_due(turn, entries, model, takes)
    if own then return own end
    for i = 1, #entries do
        local entry = entries[i]
        if entry.due > 0 and takes(turn, entry.models, model) then
            if entry.node == turn.node or is_alive(turn, entry.node) then return entry end
            set_credits(entry, 0)
        end
    end
    return nil
end

-- All that wait for such a query are due now.
local function begin_round(turn, entries, model, takes)
    for i = 1, #entries do
        local entry = entries[i]
        if entry.due ~= entry.credits and takes(turn, entry.models, model) then entry.due = entry.credits end
    end
end

-- The credit whose turn it is among those that `takes` lets through.
local function find_waiter(turn, key, entries, model, takes)
    local entry = find_own_due(turn, entries, model, takes)
    if entry then return entry end
    load(turn, key)
    entry = find_due(turn, entries, model, takes)
    if entry then return entry end
    begin_round(turn, entries, model, takes)
    return find_due(turn, entries, model, takes)
end

-- Takes the credit whose turn it is, for a query of `model`, or from LOOKUPS ('?'). An engine that names the model
-- comes before one that takes any, which has other work. Returns its entry, nil when nobody waits.
local function take_waiter(turn, key, model)
    local entries = entries_of(turn, key)
    read_known(turn, key)
    local entry = model ~= 'default' and find_waiter(turn, key, entries, model, lists_model)
        or find_waiter(turn, key, entries, model, takes_model)
    if entry then take(entry) end
    return entry
end

-- No more hand-overs to a node until it states its credits again.
local function strike_off(turn, key, other)
    local entries = load(turn, key)
    for i = 1, #entries do
        if entries[i].node == other then set_credits(entries[i], 0) end
    end
end

local function score_of(entry)
    if entry.due == 0 then return format('%d', entry.credits) end
    return format('%d.%06d', entry.credits, min(entry.due, DUE_MAX))
end

-- Adds what was granted to an entry that was not read, and notes what was stored.
local function add_credits(turn, key, entry)
    local score = call('ZINCRBY', turn.prefix .. key, entry.credits, entry.member)
    entry.stored = floor(tonumber(score)) - entry.credits
end

local function flush_of(turn, key)
    local entries = turn[key]
    if not entries then return end
    local put, gone = {}, {}
    for i = 1, #entries do
        local entry = entries[i]
        if not entry.is_read then
            if entry.credits > 0 then add_credits(turn, key, entry) end
        elseif entry.credits ~= entry.stored or entry.due ~= entry.stored_due then
            if entry.credits > 0 then
                local n = #put
                put[n + 1], put[n + 2] = score_of(entry), entry.member
            else
                gone[#gone + 1] = entry.member
            end
        end
    end
    if #put > 0 then call('ZADD', turn.prefix .. key, unpack(put)) end
    if #gone > 0 then call('ZREM', turn.prefix .. key, unpack(gone)) end
end

local function flush(turn)
    flush_of(turn, QUERIES)
    flush_of(turn, LOOKUPS)
end

-- Is an engine for that model there? One that is parked counts before a sync has noted it. Also returns how many ms ago
-- one was last seen; nil: never.
local function has_engine(turn, model)
    local seen = fallback.seen_at(turn, model)
    local age = seen and turn.now_ms - seen
    if age and age < THERE_MS then return true, age end
    local waiter = take_waiter(turn, QUERIES, model)
    if waiter then put_back(waiter) end
    return waiter ~= nil, age
end

return {
    QUERIES = QUERIES, LOOKUPS = LOOKUPS, SCANS_MAX = SCANS_MAX, is_for_lookups = is_for_lookups, own_entry = own_entry,
    credits_of = credits_of, set_credits = set_credits, grant = grant, take = take, put_back = put_back,
    has_credit = has_credit, is_listed = is_listed, names_model = names_model, takes_model = takes_model,
    is_alive = is_alive, take_waiter = take_waiter, strike_off = strike_off, flush = flush,
    has_engine = has_engine,
}
