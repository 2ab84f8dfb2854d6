-- delivery_silent: the bot has nothing to say to a message: its delivery is done, and the room shows nothing.
-- Stops these races: two answers to one delivery (answered); a node that lost its lease (lost).
-- KEYS: dlv:<delivery>, bots/deliveries.lua.
-- Wakes: nobody.
-- Bound: one delivery.
-- Lane: first.  Home: room.  Nonce: no.  Full: runs.  Durable: yes.
-- Repeatable: the second time: answered.
-- Arguments:
--   room      name
--   delivery  name
--   fence     digits?  of its lease; absent: any
--   bot       name     whose delivery it is
-- Replies: missing | lost | answered/id of the reply ('': there is none) | ok
local deliveries = require('bots/deliveries')

local function verb(turn, a)
    --- arguments
    local d = deliveries.read(turn, delivery)
    if not d or d.room ~= room or d.bot ~= bot then return 'missing' end
    if d.state == 'done' then return 'answered\n' .. (d.answered or '') end
    if deliveries.OVER[d.state] then return 'lost' end
    if fence ~= '' and not deliveries.is_held(d, fence) then return 'lost' end
    deliveries.finish(turn, d, 'done', '')
    return 'ok'
end

return {delivery_silent = verb}
