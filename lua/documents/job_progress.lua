-- job_progress: how far a job is; renews its lease, and tells an indexer whose document is gone.
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
verbs.job_progress = function(a)
    --- arguments
    local j = held_job(job, lease)
    if not j then return 'lost' end
    call('HSET', j.key, 'stage', stage, 'progress', progress, 'updated', now_text)
    list_job(j.space, job, false)
    tell_watchers(j.space, job, j.doc, 'index_progress', stage, progress, message)
    return 'ok'
end
