-- leased: rows that one node holds at a time: deliveries, evaluations, runs. A row is a hash. The node that holds it
--   has its fence, a number that only rises; each verb of that node compares it. The row's time in turn/due.lua is the
--   end of its lease. A node renews the leases of its rows together. When a row's time has come, any node takes it
--   under the next fence. So nothing is lost with a node, and a node that was presumed dead changes nothing.
--   A kind of rows is a table:
--     set         of turn/due.lua, by which rows are taken
--     key         of a row, without its id
--     state       the field that says what a row is doing
--     held_in     the states in which a node may hold a row; in others, its time is not the end of a lease
--     ms          how long a lease is
--     longest_ms  no row's time is further away; nil: it may be
--   A row is a table with id, key, account and user, and `taken` where that is counted.
local bounds = require('turn/bounds')
local counters = require('turn/counters')
local due = require('turn/due')
local instants = require('turn/instants')
local call = redis.call
local concat = table.concat
local max, min = math.max, math.min

local TAKES, DOUBLINGS = 3, 8
local LONGEST = 2 ^ DOUBLINGS -- a lease may be as long as so many
local RENEW_COMMANDS, TAKE_COMMANDS = 4, 6 -- for a row
local END_COMMANDS = 4 -- for a lease that ends since the clock went back

-- Sets the row's time: the end of its lease, or whenever something else is due.
local function put(turn, kind, row, ms)
    due.put(turn, kind.set, row, row.id, ms)
end

local function forget(turn, kind, row)
    due.drop(turn, kind.set, row, row.id)
end

-- This node works on the row: a whole lease from now on.
local function keep(turn, kind, row)
    put(turn, kind, row, turn.now_ms + kind.ms)
end

-- Gives a row to this node, for a lease unless `ms` says more. Returns the fence.
local function give(turn, kind, row, ms)
    local fence = counters.next_lease(turn)
    call('HSET', row.key, 'fence', fence, 'node', turn.node)
    put(turn, kind, row, turn.now_ms + (ms or kind.ms))
    return fence
end

-- The same for a kind of rows that may kill the node that takes them. The field `taken` counts takes, and a step of the
-- node deletes it. From TAKES on, each take lasts twice as long as the one before, until the node's first renewal.
local function give_carefully(turn, kind, row)
    local more = call('HINCRBY', row.key, 'taken', 1) - TAKES
    local ms = kind.ms * 2 ^ max(0, min(more, DOUBLINGS))
    return give(turn, kind, row, min(ms, kind.longest_ms or ms))
end

-- This node has no room for the row: another one may take it after that time, and this take does not count.
local function give_back(turn, kind, row, after_ms)
    if row.taken then call('HINCRBY', row.key, 'taken', -1) end
    put(turn, kind, row, turn.now_ms + after_ms)
end

-- Takes rows whose time has come, `most` of them. give_row(id) gives one to this node and returns its lines of the
-- reply, or nil if nobody needs to take it any more. Returns the reply.
local function take(turn, kind, most, give_row)
    local parts = {}
    due.take(turn, kind.set, most, kind.longest_ms, function(id)
        local lines = give_row(id)
        bounds.note_read(turn, TAKE_COMMANDS, 0)
        parts[#parts + 1] = lines
        return lines ~= nil
    end)
    return concat(parts, '\n')
end

-- Renews the leases of this node's rows: args[from] to args[to] are the id and the fence of each. Returns the ids of
-- those that it does not hold any more, each on a line.
local function renew(turn, kind, args, from, to)
    local lost = {}
    bounds.note_read(turn, RENEW_COMMANDS * (to - from + 1) / 2, 0)
    for i = from, to, 2 do
        local id = args[i]
        local got = call('HMGET', turn.prefix .. kind.key .. id, 'fence', kind.state, 'account', 'user')
        if got[1] == args[i + 1] and kind.held_in[got[2]] then
            keep(turn, kind, {id = id, account = got[3], user = got[4]})
        else
            lost[#lost + 1] = id
        end
    end
    return concat(lost, '\n')
end

-- Is the row's time the end of a lease? So is that of a row that is gone, which is forgotten when it is taken.
local function is_held(turn, kind, id)
    local got = call('HMGET', turn.prefix .. kind.key .. id, 'fence', kind.state)
    return got[1] ~= '' and (not got[2] or kind.held_in[got[2]])
end

-- After the clock has gone back: leases end after one lease at most, so that no dead node holds a row for longer. Other
-- times stay.
local function end_late(turn, kind)
    local accounts, left = turn.prefix .. kind.set, instants.LATE_MAX
    for _, account in ipairs(call('ZRANGE', accounts, 0, left)) do
        local users = accounts .. ':' .. account
        for _, user in ipairs(call('ZRANGE', users, 0, left)) do
            local ids = instants.late_ones(turn, users .. ':' .. user, kind.ms, left)
            left = max(0, left - 1 - #ids)
            bounds.note_read(turn, 1 + END_COMMANDS * #ids, 0)
            for _, id in ipairs(ids) do
                if is_held(turn, kind, id) then keep(turn, kind, {id = id, account = account, user = user}) end
            end
        end
    end
end

-- Is there a row for `take`?
local function is_any(turn, kind)
    return due.is_any(turn, kind.set, kind.longest_ms)
end

return {
    LONGEST = LONGEST,
    put = put, forget = forget, keep = keep, give = give, give_carefully = give_carefully, give_back = give_back,
    take = take, renew = renew, end_late = end_late, is_any = is_any,
}
