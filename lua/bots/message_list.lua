-- message_list: returns a page of a room's messages, the oldest first.
-- KEYS: room:<room>, room_messages:<room>.
-- Wakes: nobody.
-- Bound: REPLY_BYTES, but one message at least; `limit` messages.
-- Lane: slow.  Home: room.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   room       name
--   namespace  name
--   after      text? 64  id; from the oldest on without
--   limit      number    messages at most
-- Replies: replay | missing | ok/is_more (1: call again after the last one), then per message 7 lines: id, kind
--   (u|b|a), from (JSON), text (JSON), tagged (JSON list), reply_to or '', hop
local messages = require('bots/messages')
local rooms = require('bots/rooms')
local bounds = require('turn/bounds')
local min = math.min

local function verb(turn, a)
    --- arguments
    if not rooms.read(turn, room, namespace) then return 'missing' end
    local parts = {''}
    local is_more = messages.page(turn, parts, room, after, min(limit, 1000), bounds.REPLY_BYTES)
    parts[1] = 'ok\n' .. (is_more and 1 or 0)
    return parts
end

return {message_list = verb}
