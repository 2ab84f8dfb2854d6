-- evaluation_load: returns what a node needs to carry on a run that it holds: with its conversation.
-- KEYS: evaluation:<id>, evaluation_text:<id>.
-- Wakes: nobody.
-- Bound: one run: 4 MiB.
-- Lane: slow.  Home: evaluation.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   evaluation  name
--   run         digits
--   fence       digits
-- Replies: lost (another node has it, or it is over) | ok/13 lines (as of evaluation_read)/conversation (JSON)
local evaluations = require('bots/evaluations')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local e = evaluations.read(turn, evaluation .. '-' .. run)
    if not e or e.status ~= 'running' or e.fence ~= fence then return 'lost' end
    return {'ok\n', evaluations.lines(e), '\n', call('GET', turn.prefix .. 'evaluation_text:' .. e.id)}
end

return {evaluation_load = verb}
