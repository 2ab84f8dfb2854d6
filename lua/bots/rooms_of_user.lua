-- rooms_of_user: returns a page of a user's messages, room by room, the oldest first.
-- KEYS: rooms_of:<user>, room:<room>, room_messages:<room>.
-- Wakes: nobody.
-- Bound: REPLY_BYTES, but one message at least; looks at ROOMS_MAX rooms and SCAN_MAX messages, where a long one
--   counts as one per 16 KiB.
-- Lane: slow.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   user   name
--   from   number    rooms that were read to their end
--   after  text? 64  the last message that was read of the next one
-- Replies: ok/from/after (of the next call; from is '' at the end), then per message 9 lines: room, its name (JSON),
--   and 7 as of message_list
local messages = require('bots/messages')
local rooms = require('bots/rooms')
local bounds = require('turn/bounds')
local call = redis.call
local format = string.format

local SCAN_MAX, ROOMS_MAX = 1000, 100

local function verb(turn, a)
    --- arguments
    local parts, bytes, left = {''}, 0, SCAN_MAX
    for _ = 1, ROOMS_MAX do
        local room = call('ZRANGE', turn.prefix .. 'rooms_of:' .. user, from, from)[1]
        if not room then
            parts[1] = 'ok\n\n'
            return parts
        end
        bounds.note_read(turn, 2, 0)
        local name = call('HGET', rooms.key_of(turn, room), 'name') or 'null'
        local scanned
        after, scanned = messages.walk_of(turn, room, user, after, left, function(m)
            if bytes > 0 and bytes + m.bytes > bounds.REPLY_BYTES then return false end
            bytes = bytes + m.bytes
            parts[#parts + 1] = '\n' .. room .. '\n' .. name .. '\n'
            parts[#parts + 1] = messages.lines(m)
            return true
        end)
        left = left - scanned
        if after == '' then from = from + 1 end
        if after ~= '' or left <= 0 then break end
    end
    parts[1] = 'ok\n' .. format('%d', from) .. '\n' .. after
    return parts
end

return {rooms_of_user = verb}
