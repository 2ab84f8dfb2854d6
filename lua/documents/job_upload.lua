-- job_upload: the bytes that a job is to parse.
-- KEYS: job:<job>, upload:<doc>.  ARGV: job, lease.
-- Returns: lost | the bytes as a part; nothing when they are parsed already.  Wakes: nobody.  Repeatable: yes.
-- Bound: the bytes of one upload, which may be no larger than --upload-max-mib says.
verbs.job_upload = function(a)
    local j = held_job(args[a], args[a + 1])
    if not j then return 'lost' end
    local bytes = call('GET', P .. 'upload:' .. j.doc)
    return bytes and part(bytes) or ''
end
