-- room_list: returns a page of the rooms of a namespace, newest first.
-- KEYS: rooms:<namespace>, room:<room>.
-- Wakes: nobody.
-- Bound: PAGE rooms.
-- Lane: slow.  Home: every.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   namespace  name
--   limit      number
--   after      text? 64  cursor; from the newest on without
-- Replies: replay | ok/cursor of the next page ('' when there is none), then per room 4 lines: its cursor, id, name
--   (JSON), created (ms)
local newest = require('turn/newest')
local rooms = require('bots/rooms')
local call = redis.call
local concat = table.concat
local min = math.min

local PAGE = 1000

local function verb(turn, a)
    --- arguments
    local text, left = {'ok', ''}, min(limit, PAGE)
    text[2] = newest.walk(turn, {'rooms:' .. namespace}, after, PAGE, function(room, cursor)
        if left == 0 then return false end
        local r = call('HMGET', rooms.key_of(turn, room), 'name', 'created')
        if r[1] then
            left = left - 1
            text[#text + 1] = concat({cursor, room, r[1], r[2]}, '\n')
        end
        return true
    end)
    return concat(text, '\n')
end

return {room_list = verb}
