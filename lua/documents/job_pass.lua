-- job_pass: an indexer lacks what it takes to read this kind of file and leaves the job to one that has it.
-- The attempt is not counted. The job waits outside the stream: there the same indexer would read it again.
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
verbs.job_pass = function(a)
    --- arguments
    local j = held_job(job, lease)
    if not j then return 'lost' end
    take_back(j)
    call('ZADD', P .. 'waiting_jobs', now_text, j.id)
    tell_watchers(j.space, j.id, j.doc, 'index_progress', j.stage, 0, message)
    return 'ok'
end
