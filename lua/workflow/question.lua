-- workflow_question: returns one question of a run.
-- KEYS: wfq:<session>.<run>.<step>, wfr:<session>.<run>.
-- Wakes: nobody.
-- Bound: one question: 0.3 MiB.
-- Lane: read.  Home: session.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   session  name
--   run      digits
--   step     digits
-- Replies: missing | replay | ok/approvers (names, by ' ')/19 lines (status (open, approved, rejected,
--   expired)/session/run/step/request id/session id/verb/agent/account and user of the run, a line each/asked
--   (ms)/deadline (ms or '')/quorum/approvals/is_self_allowed/who ended it (JSON or '')/when (ms or '')/question
--   (JSON)/messageBody as it was asked about (JSON))
local questions = require('workflow/questions')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local id = session .. '.' .. run .. '.' .. step
    local approvers, parts = call('HGET', turn.prefix .. 'wfq:' .. id, 'approvers') or '', {}
    return questions.put_lines(turn, id, 'ok\n' .. approvers .. '\n', parts) and parts or 'missing'
end

return {workflow_question = verb}
