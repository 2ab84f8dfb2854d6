-- room_watch_again: keeps this node a watcher of a room for another 60 s.
-- KEYS: room:<room>, room_watch:<room>.
-- Wakes: nobody.
-- Bound: one room.
-- Lane: read.  Home: room.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   room  name
-- Replies: missing | ok/id of the newest message
local rooms = require('bots/rooms')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local last = call('HGET', rooms.key_of(turn, room), 'last')
    if not last then return 'missing' end
    rooms.watch(turn, room)
    return 'ok\n' .. last
end

return {room_watch_again = verb}
