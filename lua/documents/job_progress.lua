-- job_progress: how far a job is; renews its lease, and tells an indexer whose document is gone.
-- KEYS: job:<job>, recent_jobs:<space>.  ARGV: job, lease, stage, progress (0-100), message (JSON).
-- Returns: ok | lost.  Wakes: watching nodes.  Repeatable: yes.
-- Bound: one job.
verbs.job_progress = function(a)
    local job, stage, progress, message = args[a], args[a + 2], args[a + 3], args[a + 4]
    local j = held_job(job, args[a + 1])
    if not j then return 'lost' end
    call('HSET', j.key, 'stage', stage, 'progress', progress, 'updated', now_text)
    list_job(j.space, job, false)
    tell_watchers(j.space, job, j.doc, 'index_progress', stage, progress, message)
    return 'ok'
end
