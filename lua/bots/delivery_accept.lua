-- delivery_accept: the bot will answer later (202): it has 15 minutes from now on, and no node holds the delivery.
-- Stops these races: the bot's answer comes before this call (lost: the delivery is done); a sign of life of the node
--   comes after it (nothing is under that fence any more, so the 15 minutes stay).
-- KEYS: dlv:<delivery>, dlv_due.
-- Wakes: nobody.
-- Bound: one delivery.
-- Lane: first.  Home: room.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   room      name
--   delivery  name
--   fence     digits
-- Replies: ok | lost
local deliveries = require('bots/deliveries')
local leased = require('turn/leased')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local d = deliveries.read(turn, delivery)
    if not d then return 'lost' end
    if d.state == 'accepted' and d.accepted == fence then return 'ok' end
    if d.state ~= 'leased' or d.fence ~= fence then return 'lost' end
    call('HSET', d.key, 'state', 'accepted', 'accepted', fence, 'fence', '')
    leased.put(turn, deliveries.KIND, d, turn.now_ms + deliveries.ANSWER_MS)
    return 'ok'
end

return {delivery_accept = verb}
