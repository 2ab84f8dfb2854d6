-- leases: running claims, their holders and deadlines. The zset leases ("<lease> <topic>" -> deadline ms) is the
--   authoritative index; a turn writes its changes once, at its end or before a verb reads the index. The key
--   lease:<id> ("<holder> <topic> <attempt> <node> <Seqs>", with a TTL) records what the claim took, for operators and
--   to spare verbs a search. It is written when the claim is confirmed, and may expire before it: nothing depends on
--   it.
local bounds = require('turn/bounds')
local counters = require('turn/counters')
local call = redis.call
local format, match = string.format, string.match

-- Did a lease end in this turn?
local function has_ended(turn, lease)
    local ended_at = turn.lease_ended_at
    return ended_at and ended_at[lease]
end

-- Does a lease run?
local function lives(turn, lease, topic)
    if has_ended(turn, lease) then return false end
    return call('ZSCORE', turn.prefix .. 'leases', lease .. ' ' .. topic) ~= false
end

-- The deadline of a lease that begins now, and of a delivery lease, as text. The latter's is odd, a lease's is even.
local function lease_end(turn)
    local at = turn.now_ms + turn.settings.lease_ms
    turn.lease_end_text = format('%d', at - at % 2)
    return turn.lease_end_text
end

local function delivery_end(turn)
    local at = turn.now_ms + turn.settings.delivery_ms
    turn.delivery_end_text = format('%d', at - at % 2 + 1)
    return turn.delivery_end_text
end

-- Writes the key of a lease, for its full time. `record`: "<holder> <topic> <attempt> <node> <Seqs>".
local function write_key(turn, lease, record)
    call('SET', turn.prefix .. 'lease:' .. lease, record, 'PXAT', turn.lease_end_text or lease_end(turn))
end

-- Who holds a lease, and the Seqs that it took (by ' '), as its key says; nil without it.
local function read_key(turn, lease)
    return match(call('GET', turn.prefix .. 'lease:' .. lease) or '', '^(%S+) %S+ %d+ %S+ (.+)$')
end

-- Starts a lease. It begins as a delivery lease: the node that writes the claim to
-- its engine extends it (queue/delivered.lua), so a claim that dies on the way costs 2 s, not
-- a whole lease, and no attempt: its odd deadline shows reap that no engine had it.
local function start(turn, topic)
    local lease, begun = counters.next_lease(turn), turn.leases_begun or {}
    turn.leases_begun = begun
    begun[#begun + 1] = turn.delivery_end_text or delivery_end(turn)
    begun[#begun + 1] = lease .. ' ' .. topic
    return lease
end

-- Its deadline is a whole lease from now on, unless it has ended meanwhile. `member`: "<lease> <topic>".
local function keep(turn, member)
    local kept = turn.leases_kept or {}
    turn.leases_kept = kept
    kept[#kept + 1] = turn.lease_end_text or lease_end(turn)
    kept[#kept + 1] = member
end

-- Claims that reached their engines: args[first] to args[last] are a member of the index and a record each. Those that
-- have ended meanwhile stay so.
local function confirm(turn, args, first, last)
    local members = {}
    for i = first, last, 2 do members[#members + 1] = args[i] end
    if #members == 0 then return end
    local ends = call('ZMSCORE', turn.prefix .. 'leases', unpack(members))
    for i = 1, #members do
        local lease = ends[i] and match(members[i], '^%d+')
        if lease and not has_ended(turn, lease) then
            keep(turn, members[i])
            write_key(turn, lease, args[first + 2 * i - 1])
        end
    end
end

-- A sign of life: it starts again. Returns false when its key is gone, which is then to be written again.
local function renew(turn, lease, topic)
    keep(turn, lease .. ' ' .. topic)
    return call('PEXPIREAT', turn.prefix .. 'lease:' .. lease, turn.lease_end_text) == 1
end

local function finish(turn, lease, topic)
    local ended, keys, ended_at = turn.leases_ended or {}, turn.lease_keys_ended or {}, turn.lease_ended_at or {}
    turn.leases_ended, turn.lease_keys_ended, turn.lease_ended_at = ended, keys, ended_at
    ended[#ended + 1] = lease .. ' ' .. topic
    keys[#keys + 1] = turn.prefix .. 'lease:' .. lease
    ended_at[lease] = true
end

-- Writes what was collected so far.
local function flush(turn)
    local begun, kept, ended = turn.leases_begun, turn.leases_kept, turn.leases_ended
    local key = turn.prefix .. 'leases'
    if begun then bounds.in_parts(begun, function(...) call('ZADD', key, ...) end) end
    if kept then bounds.in_parts(kept, function(...) call('ZADD', key, 'XX', ...) end) end
    if ended then
        bounds.in_parts(ended, function(...) call('ZREM', key, ...) end)
        bounds.in_parts(turn.lease_keys_ended, function(...) call('DEL', ...) end)
    end
    turn.leases_begun, turn.leases_kept, turn.leases_ended, turn.lease_keys_ended = nil, nil, nil, nil
end

return {
    has_ended = has_ended, lives = lives, write_key = write_key, read_key = read_key, start = start,
    confirm = confirm, renew = renew, finish = finish, flush = flush,
}
