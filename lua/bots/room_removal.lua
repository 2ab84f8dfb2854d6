-- room_removal: removes a room that is being deleted (rooms_going), a part at a time: its messages, what is counted for
-- them, their deliveries to bots, which no bot can answer any more, and its entries in the lists of its members.
local deliveries = require('bots/deliveries')
local messages = require('bots/messages')
local rooms = require('bots/rooms')
local bounds = require('turn/bounds')
local call = redis.call
local format, gmatch, match = string.format, string.gmatch, string.match

local COMMANDS = 8 -- for a message, besides its deliveries
local STOPPED_MS = 30000 -- after its beginning; a node continues with it meanwhile

-- Bots need not answer a message that goes.
local function drop_calls(turn, room, m)
    if m.reply_to ~= '' then return deliveries.drop_of(turn, room, m.id) end
    for tag in gmatch(m.tags, '[^\n]+') do
        if match(tag, '^[bp]%.') then return deliveries.drop_of(turn, room, m.id) end
    end
end

-- The room is in no list of its members any more: `most` of them. Returns whether those were all.
local function drop_members(turn, room, most)
    local P = turn.prefix
    local members = call('SPOP', P .. 'room_members:' .. room, most)
    bounds.note_read(turn, 1 + #members, 0)
    for i = 1, #members do
        local kind, name = match(members[i], '^(%a)%.(.+)$')
        if kind == 'u' then
            call('ZREM', P .. 'rooms_of:' .. name, room)
        else
            deliveries.forget_talk(turn, room, name)
        end
    end
    return #members < most
end

-- Looks at `most` messages, where a long one counts as several, or members. Returns whether the room is gone.
local function remove(turn, room, most)
    local P = turn.prefix
    if not call('ZSCORE', P .. 'rooms_going', room) then return true end
    local is_all = messages.remove_oldest(turn, room, most, function(m)
        bounds.note_read(turn, COMMANDS, 0)
        drop_calls(turn, room, m)
    end)
    if not is_all or not drop_members(turn, room, most) then return false end
    call('UNLINK', rooms.key_of(turn, room), P .. 'room_messages:' .. room, P .. 'room_watch:' .. room)
    call('ZREM', P .. 'rooms_going', room)
    return true
end

-- The same for one room whose deletion has stopped, because its node has died.
local function go_on(turn, most)
    local before = format('%d', turn.now_ms - STOPPED_MS)
    local room = call('ZRANGEBYSCORE', turn.prefix .. 'rooms_going', '-inf', before, 'LIMIT', 0, 1)[1]
    if room then remove(turn, room, most) end
end

return {STOPPED_MS = STOPPED_MS, drop_calls = drop_calls, remove = remove, go_on = go_on}
