-- leases: the zset leases ("<lease> <topic>" -> deadline ms) is the index of running claims. What a turn begins, renews
-- and ends of them is written once: at its end, or before a verb looks at the index.
local bounds = require('turn/bounds')
local counters = require('turn/counters')
local call = redis.call

-- The turn's lists of what is to be written, and what became in it of a lease: begun (true) or ended (false).
local function changes_of(turn)
    local changes = turn.leases
    if not changes then
        changes = {begun = {}, kept = {}, ended = {}, known = {}}
        turn.leases = changes
    end
    return changes
end

-- Starts a lease. It begins as a delivery lease: the node that writes the claim to
-- its engine extends it (queue/delivered.lua), so a claim that dies on the way costs 2 s, not
-- a whole lease, and no attempt: its odd deadline tells reap that no engine had it.
local function start(turn, topic)
    local lease, changes = counters.next_lease(turn), changes_of(turn)
    local begun = changes.begun
    begun[#begun + 1] = turn.delivery_end_text
    begun[#begun + 1] = lease .. ' ' .. topic
    changes.known[lease] = true
    return lease
end

-- Its deadline is a whole lease from now on, unless it has ended meanwhile. `member`: "<lease> <topic>".
local function keep(turn, member)
    local kept = changes_of(turn).kept
    kept[#kept + 1] = turn.lease_end_text
    kept[#kept + 1] = member
end

local function finish(turn, lease, topic)
    local changes = changes_of(turn)
    changes.ended[#changes.ended + 1] = lease .. ' ' .. topic
    changes.known[lease] = false
end

-- What became of a lease in this turn: begun (true), ended (false), nothing (nil).
local function known(turn, lease)
    local changes = turn.leases
    if not changes then return nil end
    return changes.known[lease]
end

-- Was one begun in this turn that is not written yet?
local function has_begun(turn)
    return turn.leases ~= nil and #turn.leases.begun > 0
end

local function flush(turn)
    local key, changes = turn.prefix .. 'leases', turn.leases
    if not changes then return end
    bounds.in_parts(changes.begun, function(...) call('ZADD', key, ...) end)
    bounds.in_parts(changes.kept, function(...) call('ZADD', key, 'XX', ...) end)
    bounds.in_parts(changes.ended, function(...) call('ZREM', key, ...) end)
    changes.begun, changes.kept, changes.ended = {}, {}, {}
end

return {start = start, keep = keep, finish = finish, known = known, has_begun = has_begun, flush = flush}
