-- leases: the zset leases ("<lease> <topic>" -> deadline ms) is the index of running claims. What a turn begins, renews
-- and ends of them is written once: at its end, or before a verb looks at the index.
local bounds = require('turn/bounds')
local counters = require('turn/counters')
local call, format = redis.call, string.format

-- What became of a lease in this turn: begun (true), ended (false), nothing (nil).
local function known(turn, lease)
    local known_at = turn.lease_known_at
    return known_at and known_at[lease]
end

-- The deadline of a lease that begins now, and of a delivery lease, as text. The latter's is odd, a lease's is even.
local function lease_end(turn)
    local at = turn.now_ms + turn.lease_ms
    turn.lease_end_text = format('%d', at - at % 2)
    return turn.lease_end_text
end

local function delivery_end(turn)
    local at = turn.now_ms + turn.delivery_ms
    turn.delivery_end_text = format('%d', at - at % 2 + 1)
    return turn.delivery_end_text
end

-- Starts a lease. It begins as a delivery lease: the node that writes the claim to
-- its engine extends it (queue/delivered.lua), so a claim that dies on the way costs 2 s, not
-- a whole lease, and no attempt: its odd deadline tells reap that no engine had it.
local function start(turn, topic)
    local lease = counters.next_lease(turn)
    local begun, known_at = turn.leases_begun or {}, turn.lease_known_at or {}
    turn.leases_begun, turn.lease_known_at = begun, known_at
    begun[#begun + 1] = turn.delivery_end_text or delivery_end(turn)
    begun[#begun + 1] = lease .. ' ' .. topic
    known_at[lease] = true
    return lease
end

-- Its deadline is a whole lease from now on, unless it has ended meanwhile. `member`: "<lease> <topic>".
local function keep(turn, member)
    local kept = turn.leases_kept or {}
    turn.leases_kept = kept
    kept[#kept + 1] = turn.lease_end_text or lease_end(turn)
    kept[#kept + 1] = member
end

local function finish(turn, lease, topic)
    local ended, known_at = turn.leases_ended or {}, turn.lease_known_at or {}
    turn.leases_ended, turn.lease_known_at = ended, known_at
    ended[#ended + 1] = lease .. ' ' .. topic
    known_at[lease] = false
end

-- Writes what was collected so far.
local function flush(turn)
    local begun, kept, ended = turn.leases_begun, turn.leases_kept, turn.leases_ended
    local key = turn.prefix .. 'leases'
    if begun then bounds.in_parts(begun, function(...) call('ZADD', key, ...) end) end
    if kept then bounds.in_parts(kept, function(...) call('ZADD', key, 'XX', ...) end) end
    if ended then bounds.in_parts(ended, function(...) call('ZREM', key, ...) end) end
    turn.leases_begun, turn.leases_kept, turn.leases_ended = nil, nil, nil
end

return {known = known, start = start, keep = keep, finish = finish, flush = flush}
