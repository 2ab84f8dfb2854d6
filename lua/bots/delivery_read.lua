-- delivery_read: returns what a bot is given with a message: the message, those before it, and what this bot was asked
-- and said before in the room.
-- KEYS: dlv:<delivery>, room:<room>, room_messages:<room>, room_talk:<room>:<bot>.
-- Wakes: nobody.
-- Bound: CONTEXT messages before it and 100 of the conversation, the newest ones, PART_BYTES each; reads
--   AT_ONCE messages more than it returns.
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
local min = math.min

local CONTEXT, PART_BYTES, AT_ONCE = 50, 524288, 5

-- Collects messages, the newest first, as long as they fit.
local function collect()
    local kept, bytes = {}, 0
    return kept, function(m)
        bytes = bytes + m.bytes
        if bytes > PART_BYTES then return false end
        kept[#kept + 1] = m
        return true
    end
end

-- The messages before one. They may be long, and only those that fit are wanted: a few are read at a time.
local function context_of(turn, room, m)
    local kept, take = collect()
    local before = m.id
    while #kept < CONTEXT do
        local some = messages.before(turn, room, before, min(AT_ONCE, CONTEXT - #kept))
        for i = 1, #some do
            if not take(some[i]) then return kept end
        end
        if #some < AT_ONCE then break end
        before = some[#some].id
    end
    return kept
end

-- What the bot was asked before a message, and said.
local function exchanges_of(turn, room, bot, m)
    local kept, take = collect()
    local entries = call('LRANGE', turn.prefix .. 'room_talk:' .. room .. ':' .. bot, 0, -1)
    for i = #entries, 1, -1 do
        local id = match(entries[i], '^%S+ (%S+)$')
        local one = messages.is_before(id, m.id) and messages.read(turn, room, id)
        if one and not take(one) then break end
    end
    return kept
end

local function verb(turn, a)
    --- arguments
    local d = deliveries.read(turn, delivery)
    local m = d and d.room == room and messages.read(turn, room, d.message)
    if not m then return 'missing' end
    local context, exchanges = context_of(turn, room, m), exchanges_of(turn, room, d.bot, m)
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
