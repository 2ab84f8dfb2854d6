-- evaluation_release: a node gives back a run for which it has no room. Another one may take it at once, and that this
-- one had it does not count as a take without a turn.
-- Stops this race: another node has it by now (lost).
-- KEYS: evaluation:<id>, evaluation_due.
-- Wakes: nobody.
-- Bound: one run.
-- Lane: first.  Home: evaluation.  Nonce: no.  Full: runs.
-- Repeatable: until another node has it.
-- Arguments:
--   evaluation  name
--   run         digits
--   fence       digits
-- Replies: ok | lost
local evaluations = require('bots/evaluations')
local leased = require('turn/leased')

local function verb(turn, a)
    --- arguments
    local e = evaluations.read(turn, evaluation .. '-' .. run)
    if not e or e.status ~= 'running' or e.fence ~= fence then return 'lost' end
    leased.give_back(turn, evaluations.KIND, e, 0)
    return 'ok'
end

return {evaluation_release = verb}
