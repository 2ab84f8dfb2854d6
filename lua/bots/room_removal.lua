-- room_removal: removes a room that is being deleted (rooms_going), a part at a time: its messages, what is counted for
-- them, and their deliveries to bots, which no bot can answer any more.
local deliveries = require('bots/deliveries')
local messages = require('bots/messages')
local rooms = require('bots/rooms')
local bounds = require('turn/bounds')
local call = redis.call
local format, gmatch, match = string.format, string.gmatch, string.match

local COMMANDS = 8 -- for a message, besides its deliveries
local STOPPED_MS = 30000 -- after its beginning; a node goes on with it meanwhile

-- The conversations with the bots that a message names are over, and those bots need not answer it.
local function drop_calls(turn, room, m)
    local may_call = m.reply_to ~= ''
    for tag in gmatch(m.tags, '[^\n]+') do
        local kind, bot = match(tag, '^(%a)%.(%S+)')
        if kind == 'b' or kind == 'p' then
            may_call = true
            deliveries.forget_talk(turn, room, bot)
        end
    end
    if m.kind == 'b' then deliveries.forget_talk(turn, room, m.name) end
    if may_call then deliveries.drop_of(turn, room, m.id) end
end

-- Looks at `most` messages, of which a long one counts as several. Returns whether the room is gone.
local function remove(turn, room, most)
    local P = turn.prefix
    if not call('ZSCORE', P .. 'rooms_going', room) then return true end
    local is_all = messages.remove_oldest(turn, room, most, function(m)
        bounds.note_read(turn, COMMANDS, 0)
        if m.kind == 'u' then call('ZREM', P .. 'rooms_of:' .. m.name, room) end
        drop_calls(turn, room, m)
    end)
    if not is_all then return false end
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

return {STOPPED_MS = STOPPED_MS, remove = remove, go_on = go_on}
