-- delivery_take: gives deliveries to this node whose time has come: those that nobody has, those of a node that died,
-- and those whose answer is late. Those who wrote the messages take turns (turn/due.lua). Also removes what is over for
-- an hour, rooms in which nobody writes, and continues with the deletion of rooms that has stopped.
-- Stops this race: two nodes take one delivery (the first one's lease moves its time). One that ends every node that
-- takes it is taken less and less often, and is dropped after half an hour.
-- KEYS: turn/due.lua with dlv_due, dlv_done, dlv:<delivery>, rooms_empty, rooms_going; of a room as room_delete.
-- Wakes: nobody.
-- Bound: as many deliveries as its argument says, TAKE_MAX at most; removes DROP_MAX, ROOMS_MAX rooms, and SCAN_MAX
--   messages of one.
-- Lane: slow.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: takes more.
-- Arguments:
--   limit  number
-- Replies: (per delivery 8 lines: id/fence/bot/task (`call` its endpoint; say that it is `busy`, that its answer is
--   `late`, or that there will be none: `over`)/attempts that have begun/ms since the message/account/digest of the
--   user: whose turn it takes)
local deliveries = require('bots/deliveries')
local removal = require('bots/room_removal')
local rooms = require('bots/rooms')
local leased = require('turn/leased')
local call = redis.call
local format = string.format
local concat = table.concat
local max, min = math.max, math.min

local TAKE_MAX, DROP_MAX = 100, 200
local ROOMS_MAX, SCAN_MAX = 20, 200

local function drop_old(turn)
    local P, keys = turn.prefix, {}
    local before = format('%d', turn.now_ms - deliveries.KEPT_MS)
    local old = call('ZRANGEBYSCORE', P .. 'dlv_done', '-inf', before, 'LIMIT', 0, DROP_MAX)
    if #old == 0 then return end
    for i = 1, #old do keys[i] = deliveries.key_of(turn, old[i]) end
    call('UNLINK', unpack(keys))
    call('ZREM', P .. 'dlv_done', unpack(old))
end

local function verb(turn, a)
    --- arguments
    local taken = leased.take(turn, deliveries.KIND, min(limit, TAKE_MAX), function(id)
        local d = deliveries.read(turn, id)
        if not d or deliveries.OVER[d.state] then return nil end
        if deliveries.is_in_vain(turn, d) then
            deliveries.finish(turn, d, 'failed', '')
            return nil
        end
        local task, age = deliveries.task_of(d), format('%d', max(0, turn.now_ms - d.created))
        return concat({d.id, deliveries.give(turn, d, true), d.bot, task, d.attempt, age, d.account, d.user}, '\n')
    end)
    drop_old(turn)
    rooms.age(turn, ROOMS_MAX)
    removal.go_on(turn, SCAN_MAX)
    return taken
end

return {delivery_take = verb}
