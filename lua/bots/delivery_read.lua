-- delivery_read: returns what a bot is given with a delivery: the message, up to 50 messages before it, and what the bot
-- was asked and said before in this room.
-- KEYS: dlv:<delivery>, room:<room>, room_messages:<room>, room_talk:<room>:<bot>.
-- Wakes: nobody.
-- Bound: the message, and twice PART_BYTES or one message; 150 messages.
-- Lane: slow.  Home: room.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   room      name
--   delivery  name
-- Replies: missing | ok/name of the room (JSON)/n (messages before it)/n (exchanges), then per message 8 lines (those of
--   a message, and the id of the first one of its chain of replies): the delivered one, those before it, the exchanges
local deliveries = require('bots/deliveries')
local messages = require('bots/messages')
local call = redis.call
local format, match = string.format, string.match
local concat = table.concat

local CONTEXT_MAX, PART_BYTES, AT_ONCE = 50, 524288, 10

-- A list that is filled from the newest message to the oldest. Returns false when it is full.
local function put(list, m)
    if #list > 0 and list.bytes + m.bytes > PART_BYTES then return false end
    list[#list + 1], list.bytes = messages.lines(m) .. '\n' .. m.root, list.bytes + m.bytes
    return true
end

local function context_of(turn, room, id)
    local list, last = {bytes = 0}, id
    while #list < CONTEXT_MAX do
        local found = messages.before(turn, room, last, AT_ONCE)
        for i = 1, #found do
            if #list == CONTEXT_MAX or not put(list, found[i]) then return list end
            last = found[i].id
        end
        if #found < AT_ONCE then return list end
    end
    return list
end

local function is_before(a, b)
    local a_ms, a_n = match(a, '^(%d+)%-(%d+)$')
    local b_ms, b_n = match(b, '^(%d+)%-(%d+)$')
    if a_ms ~= b_ms then return tonumber(a_ms) < tonumber(b_ms) end
    return tonumber(a_n) < tonumber(b_n)
end

local function exchanges_of(turn, room, bot, id)
    local list = {bytes = 0}
    local talk = call('LRANGE', turn.prefix .. 'room_talk:' .. room .. ':' .. bot, 0, -1)
    for i = #talk, 1, -1 do
        local one = match(talk[i], '^%S+ (%S+)$')
        local m = is_before(one, id) and messages.read(turn, room, one)
        if m and not put(list, m) then break end
    end
    return list
end

local function verb(turn, a)
    --- arguments
    local d = deliveries.read(turn, delivery)
    local m = d and d.room == room and messages.read(turn, room, d.message)
    if not m then return 'missing' end
    local context = context_of(turn, room, m.id)
    local exchanges = exchanges_of(turn, room, d.bot, m.id)
    local name = call('HGET', turn.prefix .. 'room:' .. room, 'name') or '""'
    local text = {'ok', name, format('%d', #context), format('%d', #exchanges), messages.lines(m), m.root}
    for i = #context, 1, -1 do text[#text + 1] = context[i] end
    for i = #exchanges, 1, -1 do text[#text + 1] = exchanges[i] end
    return concat(text, '\n')
end

return {delivery_read = verb}
