-- job_fail: a document cannot be indexed. Its bytes go; its text, if there is one, stays for a reindexing,
-- and what was searched of it before is still searched.
-- KEYS: job:<job>, doc:<doc>, upload:<doc>, jobs, recent_jobs:<space>, trash.
-- ARGV: job, lease, error (JSON, for people).
-- Returns: ok | lost.  Wakes: watching nodes.  Repeatable: yes.
-- Bound: one job.
verbs.job_fail = function(a)
    local j, seen = held_job(args[a], args[a + 1])
    if not j then return seen.status == 'FAILED' and seen.lease == args[a + 1] and 'ok' or 'lost' end
    fail_job(j, args[a + 2])
    return 'ok'
end
