-- job_release: an indexer that stops gives its job back: at the end of the stream, the attempt not counted.
-- KEYS: job:<job>, doc:<doc>, jobs, recent_jobs:<space>, trash.  ARGV: job, lease.
-- Returns: ok | lost.  Wakes: whoever reads the stream.  Repeatable: the second time it is lost.
verbs.job_release = function(a)
    local j = held_job(args[a], args[a + 1])
    if not j then return 'lost' end
    trash_job_elements(j)
    drop_entry(j.entry)
    call('HSET', j.key, 'status', 'QUEUED', 'lease', '', 'attempt', format('%d', j.attempt - 1), 'progress', 0,
         'consumer', '', 'stolen', '', 'digest', '', 'vectors_n', 0, 'entry', put_entry(j.id), 'updated', now_text)
    call('HSET', P .. 'doc:' .. j.doc, 'status', 'QUEUED', 'updated', now_text)
    list_job(j.space, j.id, false)
    return 'ok'
end
