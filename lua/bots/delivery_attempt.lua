-- delivery_attempt: one more attempt to call a bot begins. It is stored first, so that also another node that takes the
-- delivery later counts on from here.
-- Stops this race: a node was presumed dead and continues (it gets lost).
-- KEYS: dlv:<delivery>, dlv_due.
-- Wakes: nobody.
-- Bound: one delivery.
-- Lane: first.  Home: room.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   room      name
--   delivery  name
--   fence     digits
--   attempt   digits  the number of this attempt: those that have begun and 1
-- Replies: ok/ms since the message | busy (the bot has too many deliveries: it is not called) | over (no attempt is
--   left, or the message is older than 70 s) | lost
local deliveries = require('bots/deliveries')
local leased = require('turn/leased')
local call = redis.call
local format = string.format

local function verb(turn, a)
    --- arguments
    local d = deliveries.read(turn, delivery)
    if not d or d.state ~= 'leased' or d.fence ~= fence then return 'lost' end
    if d.is_busy then return 'busy' end
    local n, age_ms = tonumber(attempt), math.max(0, turn.now_ms - d.created)
    if n ~= d.attempt + 1 and n ~= tonumber(d.attempt) then return 'lost' end
    if n > deliveries.ATTEMPTS or age_ms > deliveries.CALL_MS then return 'over' end
    call('HSET', d.key, 'attempt', attempt)
    if d.taken then call('HDEL', d.key, 'taken') end
    leased.keep(turn, deliveries.KIND, d)
    return 'ok\n' .. format('%d', age_ms)
end

return {delivery_attempt = verb}
