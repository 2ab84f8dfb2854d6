-- workflow_release: a node gives back a run for which it has no room. Another one may take it after a while, and that
-- this one had it does not count as a take without a step.
-- Stops this race: another node has it by now, or it waits for a person (lost).
-- KEYS: wfr:<session>.<run>, wf_due.
-- Wakes: nobody.
-- Bound: one run.
-- Lane: first.  Home: session.  Nonce: no.  Full: runs.
-- Repeatable: until another node has it.
-- Arguments:
--   session   name
--   run       digits
--   fence     digits
--   after_ms  number
-- Replies: ok | lost
local leased = require('turn/leased')
local runs = require('workflow/runs')

local function verb(turn, a)
    --- arguments
    local r = runs.read(turn, session, run, 'taken')
    if not r or r.fence ~= fence or not runs.DRIVEN[r.status] then return 'lost' end
    leased.give_back(turn, runs.KIND, r, after_ms)
    return 'ok'
end

return {workflow_release = verb}
