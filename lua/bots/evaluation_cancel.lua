-- evaluation_cancel: ends a run of a user before its time. Its turns stay.
-- Stops this race: a node drives the run (its next turn is lost).
-- KEYS: evaluation:<id>, evaluation_text:<id>, evaluation_due, evaluations_done, evaluations_open, stored.
-- Wakes: nobody.
-- Bound: one run.
-- Lane: first.  Home: evaluation.  Nonce: yes.  Full: runs.  Durable: yes.
-- Repeatable: yes: over.
-- Arguments:
--   evaluation  name
--   run         digits
--   account     name
--   user        name
-- Replies: missing (there is none, or it is another user's) | replay | ok | over/status
local evaluations = require('bots/evaluations')

local function verb(turn, a)
    --- arguments
    local e = evaluations.read_of(turn, evaluation .. '-' .. run, account, user)
    if not e then return 'missing' end
    if e.status ~= 'running' then return 'over\n' .. e.status end
    evaluations.finish(turn, e, 'cancelled')
    return 'ok'
end

return {evaluation_cancel = verb}
