-- job_text: the text that a job works on, as it was stored.
-- KEYS: job:<job>, doc:<doc>, text:<doc>:<n>.  ARGV: job, lease.
-- Returns: lost | its blocks as parts.  Wakes: nobody.  Repeatable: yes.
verbs.job_text = function(a)
    local j = held_job(args[a], args[a + 1])
    if not j then return 'lost' end
    local got = call('HMGET', P .. 'doc:' .. j.doc, 'text', 'blocks')
    local parts = {}
    for block = 0, got[2] - 1 do
        put_part(parts, call('HGET', text_key(j.doc, got[1]), format('%d', block)))
    end
    return concat(parts)
end
