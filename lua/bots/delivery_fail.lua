-- delivery_fail: a delivery has no reply. Either it has failed or its answer is late, which a notice of the main bot says
-- in the room, or the bot had nothing to say.
-- Stops these races: a node was presumed dead and goes on (lost); the bot's answer came before (answered).
-- KEYS: dlv:<delivery>, dlv_due, dlv_done, dlv_n, dlv_pull:<bot>, room:<room>, room_messages:<room>, room_watch:<room>.
-- Wakes: nodes that watch the room.
-- Bound: one notice; removes 100 messages that are too old.
-- Lane: first.  Home: room.  Nonce: no.  Full: runs.
-- Repeatable: the second time: answered or lost.
-- Arguments:
--   room      name
--   delivery  name
--   fence     digits?   of its lease; absent: any
--   outcome   words failed|silent|late  `late`: it may still be answered
--   name      name      of the main bot, in the room's namespace
--   from      json 1k   its plain name
--   text      json? 8k  of the notice; absent: none
-- Replies: missing | lost | answered/id | ok/id of the notice ('': none)
local deliveries = require('bots/deliveries')
local messages = require('bots/messages')
local rooms = require('bots/rooms')
local hashes = require('turn/hashes')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local d = deliveries.read(turn, delivery)
    if not d or d.room ~= room then return 'missing' end
    if d.state == 'done' then return 'answered\n' .. (d.answered or '') end
    if deliveries.OVER[d.state] then return 'lost' end
    if fence ~= '' and not deliveries.is_held(d, fence) then return 'lost' end
    if outcome == 'late' then
        call('HSET', d.key, 'is_late', 1, 'fence', '')
        deliveries.look_at(turn, d.id, tonumber(d.created) + deliveries.ANSWER_MS)
    else
        deliveries.finish(turn, d, outcome == 'silent' and 'done' or 'failed', '')
    end
    local original = messages.read(turn, room, d.message)
    if text == '' or not original then return 'ok\n' end
    local r = hashes.fields(rooms.key_of(turn, room), 'last', 'n', 'bytes')
    r.key = rooms.key_of(turn, room)
    local id = messages.add(turn, room, r, {
        kind = 'a', name = name, from = from, text = text, tagged = '[]', tags = '', reply_to = original.id,
        root = original.root, hop = '0', account = original.account, whose = '',
    }, {}, 0)
    return 'ok\n' .. id
end

return {delivery_fail = verb}
