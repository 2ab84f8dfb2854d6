-- room_create: creates a room.
-- KEYS: room:<room>, rooms:<namespace>, rooms_of:<user>, room_members:<room>, rooms_n, rooms_empty; turn/made.lua.
-- Wakes: nobody.
-- Bound: one room: 2 KiB.
-- Lane: add.  Home: room.  Nonce: yes.  Full: refused.  Durable: yes.
-- Repeatable: yes: ok, and with a key ok after it was deleted, too.
-- Arguments:
--   room       name      24 hex digits, random
--   namespace  name
--   room_name  json 1k
--   account    name      who creates it
--   user       name      on whose behalf, in its namespace
--   most       number    rooms that the namespace may have on this shard
--   key        text? 2k  turn/made.lua
-- Replies: ok | replay | reused | full/`account` (it has half of them) or `namespace`
local rooms = require('bots/rooms')
local made = require('turn/made')
local order = require('turn/order')
local share = require('turn/share')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local P, room_key = turn.prefix, rooms.key_of(turn, room)
    local again = made.again(turn, key)
    if again then return again end
    if call('EXISTS', room_key) == 1 then return 'ok' end
    local all = P .. 'rooms:' .. namespace
    local full = share.refusal(P .. 'rooms_n', account, call('ZCARD', all), most)
    if full then return 'full\n' .. full end
    local created = order.next_ms(turn, all)
    call('HSET', room_key, 'namespace', namespace, 'name', room_name, 'account', account, 'user', user,
         'created', created, 'n', 0, 'last', '', 'bytes', 0)
    call('ZADD', all, created, room)
    rooms.join(turn, user, room, created)
    rooms.count(turn, account, 1)
    rooms.note_empty(turn, room, turn.now_text)
    return made.keep(turn, key, 'ok')
end

return {room_create = verb}
