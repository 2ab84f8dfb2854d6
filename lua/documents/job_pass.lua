-- job_pass: an indexer lacks what it takes to read this kind of file and leaves the job to one that has it.
-- The attempt is not counted. The job waits outside the stream: there the same indexer would read it again.
-- KEYS: job:<job>, doc:<doc>, jobs, waiting_jobs, recent_jobs:<space>, trash.
-- ARGV: job, lease, message (JSON, for people).
-- Returns: ok | lost.  Wakes: watching nodes; job_waiting finds it.  Repeatable: the second time it is lost.
-- Bound: one job.
verbs.job_pass = function(a)
    local j = held_job(args[a], args[a + 1])
    if not j then return 'lost' end
    take_back(j)
    call('ZADD', P .. 'waiting_jobs', now_text, j.id)
    tell_watchers(j.space, j.id, j.doc, 'index_progress', j.stage, 0, args[a + 2])
    return 'ok'
end
