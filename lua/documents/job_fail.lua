-- job_fail: marks a job as failed. The document's bytes are deleted; its text, if any, is kept for reindexing, and its
--   former index stays searchable.
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
