-- workflow_renew: a sign of life of the node that drives these runs: they stay with it for another 6 s.
-- KEYS: wfr:<session>.<run>, wf_due.
-- Wakes: nobody.
-- Bound: 200 runs.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   each driven 200:
--     run_id  name    <session>.<run>
--     fence   digits
-- Replies: (the ids of runs that another node has, or that are over, each on a line)
local leased = require('turn/leased')
local runs = require('workflow/runs')

local function verb(turn, a)
    --- arguments
    return leased.renew(turn, runs.KIND, args, driven_from, driven_to)
end

return {workflow_renew = verb}
