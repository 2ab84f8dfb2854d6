-- delivery_read: returns what a bot is given with a message: the message, those before it, and what this bot was asked
-- and said before in the room.
-- KEYS: dlv:<delivery>, room:<room>, room_messages:<room>, room_talk:<room>:<bot>.
-- Wakes: nobody.
-- Bound: CONTEXT messages before it and 100 of the conversation, the newest ones, PART_BYTES each.
-- Lane: slow.  Home: room.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   room      name
--   delivery  name
-- Replies: missing | ok/name of the room (JSON)/n before it/n of the conversation, then per message 8 lines: 7 as of
--   message_list, and the id of the first message of its chain of replies; first the message itself, then those before
--   it, then the conversation, each the oldest first
local deliveries = require('bots/deliveries')
local messages = require('bots/messages')
local rooms = require('bots/rooms')
local call = redis.call
local format, match = string.format, string.match

local CONTEXT, PART_BYTES = 50, 524288

-- Returns what the bot was asked and said before a message, newest first, as much as fits.
local function exchanges_before(turn, room, bot, id)
    local list, bytes = {}, 0
    local entries = call('LRANGE', turn.prefix .. 'room_talk:' .. room .. ':' .. bot, 0, -1)
    for i = #entries, 1, -1 do
        local other = match(entries[i], '^%S+ (%S+)$')
        local one = messages.is_before(other, id) and messages.read(turn, room, other)
        if one then
            bytes = bytes + one.bytes
            if bytes > PART_BYTES then break end
            list[#list + 1] = one
        end
    end
    return list
end

local function verb(turn, a)
    --- arguments
    local d = deliveries.read(turn, delivery)
    local m = d and d.room == room and messages.read(turn, room, d.message)
    if not m then return 'missing' end
    local context = messages.before(turn, room, m.id, CONTEXT, PART_BYTES)
    local exchanges = exchanges_before(turn, room, d.bot, m.id)
    local name = call('HGET', rooms.key_of(turn, room), 'name') or 'null'
    local parts = {'ok\n' .. name .. '\n' .. format('%d\n%d', #context, #exchanges)}
    local function put(one)
        parts[#parts + 1] = '\n'
        parts[#parts + 1] = messages.lines(one)
        parts[#parts + 1] = '\n' .. one.root
    end
    put(m)
    for i = #context, 1, -1 do put(context[i]) end
    for i = #exchanges, 1, -1 do put(exchanges[i]) end
    return parts
end

return {delivery_read = verb}
