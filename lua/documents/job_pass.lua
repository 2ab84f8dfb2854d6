-- job_pass: an indexer that cannot read this kind of file leaves the job to another one. The attempt does not count.
--   The job waits outside the stream, because the same indexer would read it there again.
-- KEYS: job:<job>, doc:<doc>, jobs, waiting_jobs, recent_jobs:<space>, trash.
-- Wakes: watching nodes; job_waiting finds it.
-- Bound: one job.
-- Lane: first.  Home: space.  Nonce: no.  Full: runs.
-- Repeatable: the second time it is lost.
-- Arguments:
--   job      name
--   lease    text 20
--   message  json 8k  for people
-- Replies: ok | lost
local jobs = require('documents/jobs')
local watchers = require('documents/watchers')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local j = jobs.read_held(turn, job, lease)
    if not j then return 'lost' end
    jobs.take_back(turn, j)
    call('ZADD', turn.prefix .. 'waiting_jobs', turn.now_text, j.id)
    watchers.notify(turn, j.space, j.id, j.doc, 'index_progress', j.stage, 0, message)
    return 'ok'
end

return {job_pass = verb}
