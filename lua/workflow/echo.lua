-- workflow_echo: a client continues the session's newest open question with a request of a new id: that id leads to the
-- run from now on, and its next frames carry it. The answer itself follows as workflow_answer, to exactly the step that
-- is returned here, whatever opens or is answered meanwhile.
-- KEYS: wf:<session>, wfr:<session>.<run>, stored.
-- Wakes: nobody.
-- Bound: one run.
-- Lane: first.  Home: session.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   session     name
--   request_id  name
-- Replies: ok/run/step | none (no question is open) | known/run (that request id has a run, which waits for nobody) |
--   full (the run has 100 request ids)
local runs = require('workflow/runs')
local call = redis.call
local gsub = string.gsub

local function verb(turn, a)
    --- arguments
    local known = runs.run_of(turn, session, request_id)
    local run = known or runs.newest_waiting(turn, session)
    local r = run and runs.read(turn, session, run, 'question', 'ids', 'bytes', 'is_counted')
    if not r then return 'none' end
    if r.status ~= 'waiting' then return 'known\n' .. run end
    if not known then
        local _, n = gsub(r.ids, ' ', '')
        if n + 1 >= runs.NAMES_MAX then return 'full' end
        call('HSET', turn.prefix .. 'wf:' .. session, 'id:' .. request_id, run)
        call('HSET', r.key, 'ids', r.ids .. ' ' .. request_id, 'bytes', runs.grow(turn, r, 2 * #request_id))
    end
    call('HSET', r.key, 'request_id', request_id)
    return 'ok\n' .. run .. '\n' .. r.question
end

return {workflow_echo = verb}
