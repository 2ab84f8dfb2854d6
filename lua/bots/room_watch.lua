-- room_watch: registers this node as a watcher of a room for 60 s and returns the messages that a client has missed.
-- Both happen in one atomic step, so no message is lost in between. The event of a later one may arrive before this
-- reply.
-- KEYS: room:<room>, room_messages:<room>, room_watch:<room>.
-- Wakes: nobody.
-- Bound: PAGE_BYTES, but one message at least; PAGE messages.
-- Lane: slow.  Home: room.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   room       name
--   namespace  name
--   after      text? 64  id; from the oldest on without
-- Replies: missing | ok/id of the newest message ('': there is none)/is_more, then messages as of message_list
local messages = require('bots/messages')
local rooms = require('bots/rooms')

local PAGE_BYTES, PAGE = 262144, 250

local function verb(turn, a)
    --- arguments
    local r = rooms.read(turn, room, namespace)
    if not r then return 'missing' end
    rooms.watch(turn, room)
    local parts = {''}
    local is_more = messages.page(turn, parts, room, after, PAGE, PAGE_BYTES)
    parts[1] = 'ok\n' .. (r.last or '') .. '\n' .. (is_more and 1 or 0)
    return parts
end

return {room_watch = verb}
