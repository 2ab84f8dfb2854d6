-- delivery_accept: the bot will answer later (202): it has 15 minutes from now on, and no node holds the delivery.
-- Stops this race: the bot's answer comes before this call (lost: the delivery is done).
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
local call = redis.call

local function verb(turn, a)
    --- arguments
    local d = deliveries.read(turn, delivery)
    if not d or d.fence ~= fence then return 'lost' end
    if d.state == 'accepted' then return 'ok' end
    if d.state ~= 'leased' then return 'lost' end
    call('HSET', d.key, 'state', 'accepted')
    deliveries.look_at(turn, d.id, turn.now_ms + deliveries.ANSWER_MS)
    return 'ok'
end

return {delivery_accept = verb}
