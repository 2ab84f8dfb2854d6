-- delivery_fail: the main bot says in the room, as a reply to the message, that a bot has not answered, and why. The
-- delivery is over; only one whose bot pulls and is late stays until its time is over.
-- Stops these races: the bot's answer arrives meanwhile, or another node has the delivery (lost); a sign of life of
--   this node comes later (nothing is under that fence any more).
-- KEYS: dlv:<delivery>, dlv_due, bots/messages.lua, bots/deliveries.lua.
-- Wakes: nodes that watch the room.
-- Bound: one message.
-- Lane: first.  Home: room.  Nonce: no.  Full: runs.
-- Repeatable: the second time: lost.
-- Arguments:
--   room      name
--   delivery  name
--   fence     digits
--   text      json 8k
-- Replies: lost | ok/id of the message ('': the one that was delivered is gone)
local deliveries = require('bots/deliveries')
local messages = require('bots/messages')
local rooms = require('bots/rooms')
local leased = require('turn/leased')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local d = deliveries.read(turn, delivery)
    if not d or d.room ~= room or not deliveries.is_held(d, fence) then return 'lost' end
    local is_late = deliveries.task_of(d) == 'late'
    local original = messages.read(turn, room, d.message)
    local r = rooms.load_any(turn, room)
    local id = ''
    if original and r then
        id = messages.add(turn, room, r, {
            kind = 'a', name = 'annex', from = '"annex"', text = text, tagged = '[]', tags = '',
            reply_to = original.id, root = original.root, hop = '0', account = original.account, whose = '',
        }, {}, 0)
    end
    if is_late and original then
        call('HSET', d.key, 'is_late', 1, 'fence', '')
        leased.put(turn, deliveries.KIND, d, tonumber(d.created) + deliveries.ANSWER_MS)
    else
        deliveries.finish(turn, d, 'failed', id)
    end
    return 'ok\n' .. id
end

return {delivery_fail = verb}
