-- evaluation_renew: a sign of life of the node that drives these runs: they stay with it for another 15 s.
-- KEYS: evaluation:<id>, evaluation_due.
-- Wakes: nobody.
-- Bound: 100 runs.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   each driven 100:
--     run_id  name    <evaluation>-<run>
--     fence   digits
-- Replies: (the ids of runs that another node has, or that are over, each on a line)
local evaluations = require('bots/evaluations')
local leased = require('turn/leased')

local function verb(turn, a)
    --- arguments
    return leased.renew(turn, evaluations.KIND, args, driven_from, driven_to)
end

return {evaluation_renew = verb}
