-- batch_renew: a sign of life of the node that holds these batches: they stay with it for another 6 s.
-- KEYS: batch:<id>, turn/due.lua with batches_due.
-- Wakes: nobody.
-- Bound: 100 batches.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   each held 100:
--     batch_id  name    <owner>-<batch>
--     fence     digits
-- Replies: (the ids of batches that another node has, or that are over, each on a line)
local batches = require('batches/batches')
local leased = require('turn/leased')

local function verb(turn, a)
    --- arguments
    return leased.renew(turn, batches.KIND, args, held_from, held_to)
end

return {batch_renew = verb}
