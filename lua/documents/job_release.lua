-- job_release: an indexer gives its job back without counting the attempt, because it stops or cannot read files at the
--   moment. In the latter case it gives a delay, so that the job is not retried in a tight loop, and a reason.
-- KEYS: job:<job>, doc:<doc>, jobs, delayed_jobs, recent_jobs:<space>, trash; documents/job_queue.lua.
-- Wakes: an indexer; watching nodes, if there is a message.
-- Bound: one job.
-- Lane: first.  Home: space.  Nonce: no.  Full: runs.
-- Repeatable: the second time it is lost.
-- Arguments:
--   job       name
--   lease     text 20
--   delay_ms  number?   the job waits so long; at once without
--   message   json? 8k  for people, with a delay
-- Replies: ok | lost
local job_queue = require('documents/job_queue')
local jobs = require('documents/jobs')
local watchers = require('documents/watchers')
local call = redis.call
local format = string.format

local function verb(turn, a)
    --- arguments
    local j = jobs.read_held(turn, job, lease)
    if not j then return 'lost' end
    jobs.take_back(turn, j)
    if not delay_ms then
        job_queue.queue_job(turn, j.space, j.id, j.created)
    else
        call('ZADD', turn.prefix .. 'delayed_jobs', format('%d', turn.now_ms + delay_ms), j.id)
        watchers.notify(turn, j.space, j.id, j.doc, 'index_progress', j.stage, 0, message)
    end
    return 'ok'
end

return {job_release = verb}
