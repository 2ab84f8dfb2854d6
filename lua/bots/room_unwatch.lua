-- room_unwatch: removes this node from the watchers of a room.
-- KEYS: room_watch:<room>.
-- Wakes: nobody.
-- Bound: one room.
-- Lane: read.  Home: room.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   room  name
-- Replies: ok
local call = redis.call

local function verb(turn, a)
    --- arguments
    call('ZREM', turn.prefix .. 'room_watch:' .. room, turn.node)
    return 'ok'
end

return {room_unwatch = verb}
