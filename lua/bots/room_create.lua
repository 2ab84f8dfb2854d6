-- room_create: creates a room.
-- KEYS: room:<room>, rooms:<namespace>, rooms_of:<user>.
-- Wakes: nobody.
-- Bound: one room: 2 KiB.
-- Lane: add.  Home: room.  Nonce: yes.  Full: refused.  Durable: yes.
-- Repeatable: yes: ok.
-- Arguments:
--   room       name      24 hex digits, random
--   namespace  name
--   room_name  json 1k
--   account    name      who creates it
--   user       name      on whose behalf, in its namespace
--   most       number    rooms that the namespace may have on this shard
-- Replies: ok | replay | full
local rooms = require('bots/rooms')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local P, key = turn.prefix, rooms.key_of(turn, room)
    if call('EXISTS', key) == 1 then return 'ok' end
    if call('ZCARD', P .. 'rooms:' .. namespace) >= most then return 'full' end
    call('HSET', key, 'namespace', namespace, 'name', room_name, 'account', account, 'user', user,
         'created', turn.now_text, 'n', 0, 'last', '', 'bytes', 0)
    call('ZADD', P .. 'rooms:' .. namespace, turn.now_text, room)
    rooms.join(turn, user, room)
    return 'ok'
end

return {room_create = verb}
