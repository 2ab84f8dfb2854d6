-- job_release: an indexer gives its job back, the attempt not counted: because it stops, or because nothing can
-- be read where it is at the moment. Then it says for how long the job should wait, so that nobody reads it again
-- and again, and why.
-- KEYS: job:<job>, doc:<doc>, jobs, delayed_jobs, recent_jobs:<space>, trash; include/job_queue.lua.
-- ARGV: job, lease; delay (ms) and message (JSON, for people), or neither.
-- Returns: ok | lost.  Wakes: an indexer; watching nodes, if there is a message.  Repeatable: the second time it is
-- lost.
-- Bound: one job.
verbs.job_release = function(a)
    local j = held_job(args[a], args[a + 1])
    if not j then return 'lost' end
    take_back(j)
    if tonumber(args[a - 1]) < 4 then
        queue_job(j.space, j.id, j.created)
    else
        call('ZADD', P .. 'delayed_jobs', format('%d', now_ms + tonumber(args[a + 2])), j.id)
        tell_watchers(j.space, j.id, j.doc, 'index_progress', j.stage, 0, args[a + 3])
    end
    return 'ok'
end
