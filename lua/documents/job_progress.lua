-- job_progress: reports a job's progress and renews its lease; replies `lost` once the document is deleted.
-- KEYS: job:<job>, recent_jobs:<space>.
-- Wakes: watching nodes.
-- Bound: one job.
-- Lane: first.  Home: space.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   job       name
--   lease     text 20
--   stage     words PARSE|CHUNK|EMBED|STORE
--   progress  digits                         0 to 100
--   message   json 8k
-- Replies: ok | lost
local jobs = require('documents/jobs')
local watchers = require('documents/watchers')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local j = jobs.read_held(turn, job, lease)
    if not j then return 'lost' end
    call('HSET', j.key, 'stage', stage, 'progress', progress, 'updated', turn.now_text)
    jobs.list(turn, j.space, job, false)
    watchers.notify(turn, j.space, job, j.doc, 'index_progress', stage, progress, message)
    return 'ok'
end

return {job_progress = verb}
