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

local function verb(turn, a)
    --- arguments
    local r = rooms.load_any(turn, room)
    if not r then return 'missing' end
    rooms.watch(turn, room)
    return 'ok\n' .. (r.last or '')
end

return {room_watch_again = verb}
