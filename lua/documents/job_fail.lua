-- job_fail: a document cannot be indexed. Its bytes go; its text, if there is one, stays for a reindexing,
-- and what was searched of it before is still searched.
-- KEYS: job:<job>, doc:<doc>, upload:<doc>, jobs, recent_jobs:<space>, trash.
-- Wakes: watching nodes.
-- Bound: one job.
-- Lane: first.  Home: space.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   job      name
--   lease    text 20
--   message  json 8k  for people
-- Replies: ok | lost
local jobs = require('documents/jobs')

local function verb(turn, a)
    --- arguments
    local j, seen = jobs.read_held(turn, job, lease)
    if not j then return seen.status == 'FAILED' and seen.lease == lease and 'ok' or 'lost' end
    jobs.fail(turn, j, message)
    return 'ok'
end

return {job_fail = verb}
