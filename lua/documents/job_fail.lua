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
verbs.job_fail = function(a)
    --- arguments
    local j, seen = held_job(job, lease)
    if not j then return seen.status == 'FAILED' and seen.lease == lease and 'ok' or 'lost' end
    fail_job(j, message)
    return 'ok'
end
