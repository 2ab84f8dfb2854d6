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
local bounds = require('turn/bounds')
local call = redis.call
local concat = table.concat

local COMMANDS = 4 -- for a delivery

local function verb(turn, a)
    --- arguments
    local lost = {}
    bounds.note_read(turn, COMMANDS * (held_to - held_from + 1) / 2, 0)
    for i = held_from, held_to, 2 do
        local id = args[i]
        local got = call('HMGET', deliveries.key_of(turn, id), 'fence', 'state', 'account', 'user')
        if got[1] == args[i + 1] and not deliveries.OVER[got[2]] then
            local d = {id = id, account = got[3], user = got[4]}
            deliveries.look_at(turn, d, turn.now_ms + deliveries.LEASE_MS)
        else
            lost[#lost + 1] = id
        end
    end
    return concat(lost, '\n')
end

return {delivery_renew = verb}
