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

-- The newest ones of a list that begins with the newest, as many as fit, the oldest first.
local function fitting(newest)
    local kept, bytes = {}, 0
    for i = 1, #newest do
        bytes = bytes + newest[i].bytes
        if bytes > PART_BYTES then break end
        table.insert(kept, 1, newest[i])
    end
    return kept
end

local function verb(turn, a)
    --- arguments
    local d = deliveries.read(turn, delivery)
    local m = d and d.room == room and messages.read(turn, room, d.message)
    if not m then return 'missing' end
    local exchanges, entries = {}, call('LRANGE', turn.prefix .. 'room_talk:' .. room .. ':' .. d.bot, 0, -1)
    for i = #entries, 1, -1 do
        local id = match(entries[i], '^%S+ (%S+)$')
        local one = messages.is_before(id, m.id) and messages.read(turn, room, id)
        if one then exchanges[#exchanges + 1] = one end
    end
    local context = fitting(messages.before(turn, room, m.id, CONTEXT))
    exchanges = fitting(exchanges)
    local name = call('HGET', rooms.key_of(turn, room), 'name') or 'null'
    local parts = {'ok\n' .. name .. '\n' .. format('%d\n%d', #context, #exchanges)}
    local function put(one)
        parts[#parts + 1] = '\n'
        parts[#parts + 1] = messages.lines(one)
        parts[#parts + 1] = '\n' .. one.root
    end
    put(m)
    for i = 1, #context do put(context[i]) end
    for i = 1, #exchanges do put(exchanges[i]) end
    return parts
end

return {delivery_read = verb}
