-- idle: which nodes hold parked polls. Every parked poll is a credit of its node and class in
-- the zset `idle` ("<node> <class>" -> credits). Parking grants one, a hand-over uses one up, a
-- poll that ends takes its own back, so a hand-over goes to one node only and finds a poll there.
-- A class is "<account>|<models>", models "*" or "a,b": the engine's account is known at
-- hand-over, so it can be written down as the holder of the lease.
-- Credits are hints: a node states them again every few seconds (queue/sync.lua), a node without a
-- subscriber is struck off, and what reaches a node without a poll is given back.

local IDLE_MAX = 128 -- entries looked at a turn; the slow rescan serves what lies behind
local idle, idle_by_member, idle_dirty
local offered_bytes -- of claims that this turn handed over because of work that came (include/claim.lua)
local looks -- for claims of this turn: models and Open queries that were looked at
local LOOKS_MAX = 20000 -- of them, for what the turn hands over or takes unasked; the next sync goes on

local function idle_entry(member, credits)
    local entry = {member = member, credits = credits}
    entry.node, entry.account, entry.models = match(member, '^(%S+) ([^|]+)|(%S+)$')
    idle[#idle + 1] = entry
    idle_by_member[member] = entry
    return entry
end

-- The entry of this node's class, read on its own: the common turn needs no other.
local function own_entry(class)
    local member = node .. ' ' .. class
    local entry = idle_by_member[member]
    if not entry then
        entry = idle_entry(member, tonumber(call('ZSCORE', P .. 'idle', member)) or 0)
    end
    return entry
end

local idle_is_loaded
local function load_idle()
    if idle_is_loaded then return end
    idle_is_loaded = true
    local got = call('ZREVRANGE', P .. 'idle', 0, IDLE_MAX - 1, 'WITHSCORES')
    for i = 1, #got, 2 do
        if not idle_by_member[got[i]] then idle_entry(got[i], tonumber(got[i + 1])) end
    end
end

local function add_credit(entry, delta)
    entry.credits = entry.credits + delta
    idle_dirty[entry] = true
end

-- Does an engine that asked for `models` take queries for `model`? `default` goes to all.
local function takes_model(models, model)
    if models == '*' or model == 'default' then return true end
    return find(',' .. models .. ',', ',' .. model .. ',', 1, true) ~= nil
end

local is_alive_at
local function is_alive(other)
    local alive = is_alive_at[other]
    if alive == nil then
        alive = tonumber(call('PUBSUB', 'NUMSUB', P .. 'node:' .. other)[2]) > 0
        is_alive_at[other] = alive
    end
    return alive
end

-- Takes one credit for a query of `model`; this node's own polls first, they cost no message.
-- Returns the entry, nil when nobody waits.
local function take_waiter(model)
    for i = 1, #idle do
        local entry = idle[i]
        if entry.credits > 0 and entry.node == node and takes_model(entry.models, model) then
            add_credit(entry, -1)
            return entry
        end
    end
    load_idle()
    for i = 1, #idle do
        local entry = idle[i]
        if entry.credits > 0 and takes_model(entry.models, model) then
            if entry.node == node or is_alive(entry.node) then
                add_credit(entry, -1)
                return entry
            end
            entry.credits = 0
            idle_dirty[entry] = true
        end
    end
    return nil
end

-- No more hand-overs to a node until it states its credits again.
local function strike_off(other)
    load_idle()
    for i = 1, #idle do
        if idle[i].node == other then
            idle[i].credits = 0
            idle_dirty[idle[i]] = true
        end
    end
end

begin_idle = function()
    idle, idle_by_member, idle_dirty, idle_is_loaded, is_alive_at, offered_bytes, looks =
        {}, {}, {}, false, {}, 0, 0
end

flush_idle = function()
    for entry in pairs(idle_dirty) do
        if entry.credits > 0 then
            call('ZADD', P .. 'idle', entry.credits, entry.member)
        else
            call('ZREM', P .. 'idle', entry.member)
        end
    end
end
