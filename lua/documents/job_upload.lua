-- job_upload: the bytes that a job is to parse.
-- KEYS: job:<job>, upload:<doc>.
-- Wakes: nobody.
-- Bound: the bytes of one upload, which may be no larger than --upload-max-mib says.
-- Lane: first.  Home: space.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   job    name
--   lease  text 20
-- Replies: lost | the bytes as a part; nothing when they are parsed already
verbs.job_upload = function(a)
    --- arguments
    local j = held_job(job, lease)
    if not j then return 'lost' end
    local bytes = call('GET', P .. 'upload:' .. j.doc)
    return bytes and part(bytes) or ''
end
