-- delivery_read: returns what a bot is given with a message: the message, those before it, and what this bot was asked
-- and said before in the room.
-- KEYS: dlv:<delivery>, room:<room>, room_messages:<room>, room_talk:<room>:<bot>.
-- Wakes: nobody.
-- Bound: CONTEXT messages before it and 100 of the conversation, the newest ones, PART_BYTES each, of which AT_ONCE
--   messages more are read at most.
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

local CONTEXT, PART_BYTES, AT_ONCE = 50, 524288, 10

-- Puts one more message into a list that begins with the newest. Returns false when it is full: then none is read
-- any more.
local function put(list, m)
    if #list > 0 and list.bytes + m.bytes > PART_BYTES then return false end
    list[#list + 1], list.bytes = m, list.bytes + m.bytes
    return true
end

local function context_of(turn, room, id)
    local list, last = {bytes = 0}, id
    while #list < CONTEXT do
        local found = messages.before(turn, room, last, AT_ONCE)
        for i = 1, #found do
            if not put(list, found[i]) then return list end
            last = found[i].id
        end
        if #found < AT_ONCE then return list end
    end
    return list
end

local function exchanges_of(turn, room, bot, id)
    local list, entries = {bytes = 0}, call('LRANGE', turn.prefix .. 'room_talk:' .. room .. ':' .. bot, 0, -1)
    for i = #entries, 1, -1 do
        local one = match(entries[i], '^%S+ (%S+)$')
        local m = messages.is_before(one, id) and messages.read(turn, room, one)
        if m and not put(list, m) then return list end
    end
    return list
end

local function verb(turn, a)
    --- arguments
    local d = deliveries.read(turn, delivery)
    local m = d and d.room == room and messages.read(turn, room, d.message)
    if not m then return 'missing' end
    local context, exchanges = context_of(turn, room, m.id), exchanges_of(turn, room, d.bot, m.id)
    local name = call('HGET', rooms.key_of(turn, room), 'name') or 'null'
    local parts = {'ok\n' .. name .. '\n' .. format('%d\n%d', #context, #exchanges)}
    local function put_lines(one)
        parts[#parts + 1] = '\n'
        parts[#parts + 1] = messages.lines(one)
        parts[#parts + 1] = '\n' .. one.root
    end
    put_lines(m)
    for i = #context, 1, -1 do put_lines(context[i]) end
    for i = #exchanges, 1, -1 do put_lines(exchanges[i]) end
    return parts
end

return {delivery_read = verb}
