-- workflow_find: finds the run of a request id, also of one that an echo brought.
-- KEYS: wf:<session>, wfr:<session>.<run>.
-- Wakes: nobody.
-- Bound: one run.
-- Lane: read.  Home: session.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   session     name
--   request_id  name
-- Replies: missing | ok/run/status/seq (of the last frame)/step of the newest question ('': none)
local runs = require('workflow/runs')
local concat = table.concat

local function verb(turn, a)
    --- arguments
    local run = runs.run_of(turn, session, request_id)
    local r = run and runs.read(turn, session, run, 'seq', 'question')
    if not r then return 'missing' end
    return concat({'ok', run, r.status, r.seq, r.question}, '\n')
end

return {workflow_find = verb}
