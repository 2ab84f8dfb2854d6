-- idle: which nodes hold parked polls. Every parked poll is a credit of its node and class in
-- the zset `idle` ("<node> <class>" -> credits). Parking grants one, a hand-over uses one up, a
-- poll that ends takes its own back, so a hand-over goes to one node only and finds a poll there.
-- A class is "<account>|<models>", models "*" or "a,b": the engine's account is known at
-- hand-over, so it can be written down as the holder of the lease.
-- Credits are hints: a node states them again every few seconds (queue/sync.lua), a node without a
-- subscriber is struck off, and what reaches a node without a poll is given back.
local call = redis.call
local find, format, match = string.find, string.format, string.match

local IDLE_MAX = 128 -- entries looked at a turn; the slow rescan serves what lies behind
local LOOKS_MAX = 20000 -- at models and Open queries, for what a turn hands over unasked; the next sync goes on

-- The entries that the turn has read so far: a list, which also has them by member.
local function entries_of(turn)
    local entries = turn.idle or {}
    turn.idle = entries
    return entries
end

local function put_entry(entries, member, credits)
    local node, class = match(member, '^(%S+) (.+)$')
    local account, models = match(class, '^([^|]+)|(%S+)$')
    local entry = {
        member = member, node = node, class = class, account = account, models = models, credits = credits,
        stored = credits,
    }
    entries[#entries + 1], entries[member] = entry, entry
    return entry
end

-- The entry of this node's class, read on its own: the common turn needs no other.
local function own_entry(turn, class)
    local entries, member = entries_of(turn), turn.node .. ' ' .. class
    return entries[member] or put_entry(entries, member, tonumber(call('ZSCORE', turn.prefix .. 'idle', member)) or 0)
end

-- Reads all entries. Returns them.
local function load(turn)
    local entries = entries_of(turn)
    if turn.is_idle_read then return entries end
    turn.is_idle_read = true
    local got = call('ZREVRANGE', turn.prefix .. 'idle', 0, IDLE_MAX - 1, 'WITHSCORES')
    for i = 1, #got, 2 do
        if not entries[got[i]] then put_entry(entries, got[i], tonumber(got[i + 1])) end
    end
    return entries
end

local function set_credits(entry, credits)
    entry.credits = credits
end

local function add_credit(entry, delta)
    set_credits(entry, entry.credits + delta)
end

-- Does a class have a parked poll, as far as the turn knows without looking?
local function has_credit(turn)
    local entries = entries_of(turn)
    for i = 1, #entries do
        if entries[i].credits > 0 then return true end
    end
    return false
end

-- Does an engine that asked for `models` take queries for `model`? `default` goes to all.
local function takes_model(models, model)
    if models == '*' or model == 'default' then return true end
    return find(',' .. models .. ',', ',' .. model .. ',', 1, true) ~= nil
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

-- Takes one credit for a query of `model`; this node's own polls first, they cost no message.
-- Returns the entry, nil when nobody waits.
local function take_waiter(turn, model)
    local entries, node = turn.idle, turn.node
    for i = 1, entries and #entries or 0 do
        local entry = entries[i]
        if entry.credits > 0 and entry.node == node and takes_model(entry.models, model) then
            add_credit(entry, -1)
            return entry
        end
    end
    if not turn.is_idle_read then entries = load(turn) end
    for i = 1, #entries do
        local entry = entries[i]
        if entry.credits > 0 and takes_model(entry.models, model) then
            if entry.node == node or is_alive(turn, entry.node) then
                add_credit(entry, -1)
                return entry
            end
            set_credits(entry, 0)
        end
    end
    return nil
end

-- No more hand-overs to a node until it states its credits again.
local function strike_off(turn, other)
    local entries = load(turn)
    for i = 1, #entries do
        if entries[i].node == other then set_credits(entries[i], 0) end
    end
end

local function flush(turn)
    local entries = turn.idle
    if not entries then return end
    local key = turn.prefix .. 'idle'
    for i = 1, #entries do
        local entry = entries[i]
        if entry.credits ~= entry.stored then
            if entry.credits > 0 then
                call('ZADD', key, format('%d', entry.credits), entry.member)
            else
                call('ZREM', key, entry.member)
            end
        end
    end
end

return {
    LOOKS_MAX = LOOKS_MAX, own_entry = own_entry, set_credits = set_credits, add_credit = add_credit,
    has_credit = has_credit, takes_model = takes_model, is_alive = is_alive, take_waiter = take_waiter,
    strike_off = strike_off, flush = flush,
}
