-- job_release: an indexer that stops gives its job back: at the end of the stream, the attempt not counted.
-- KEYS: job:<job>, doc:<doc>, jobs, recent_jobs:<space>, trash.  ARGV: job, lease.
-- Returns: ok | lost.  Wakes: whoever reads the stream.  Repeatable: the second time it is lost.
-- Bound: one job.
verbs.job_release = function(a)
    local j = held_job(args[a], args[a + 1])
    if not j then return 'lost' end
    queue_again(j, put_entry(j.id))
    return 'ok'
end
