-- delivery_renew: a sign of life of the node that holds these deliveries: they stay with it for another 15 s.
-- KEYS: dlv:<delivery>, dlv_due.
-- Wakes: nobody.
-- Bound: 200 deliveries.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   each held 200:
--     delivery  name
--     fence     digits
-- Replies: (the ids of deliveries that another node has, or that are over, each on a line)
local deliveries = require('bots/deliveries')
local leased = require('turn/leased')

local function verb(turn, a)
    --- arguments
    return leased.renew(turn, deliveries.KIND, args, held_from, held_to)
end

return {delivery_renew = verb}
