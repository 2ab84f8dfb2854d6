-- job_text: a page of the text that a job works on, as it was stored.
-- KEYS: job:<job>, doc:<doc>, text:<doc>:<n>.
-- Wakes: nobody.
-- Bound: ends with the block that reaches REPLY_BYTES.
-- Lane: first.  Home: space.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   job    name
--   lease  text 20
--   from   number   of the first block
-- Replies: lost | blocks as parts; none when there are no more
verbs.job_text = function(a)
    --- arguments
    local j = held_job(job, lease)
    if not j then return 'lost' end
    local got = call('HMGET', P .. 'doc:' .. j.doc, 'text', 'blocks')
    local key, parts, bytes = text_key(j.doc, got[1]), {}, 0
    for block = from, got[2] - 1 do
        local text = call('HGET', key, format('%d', block))
        put_part(parts, text)
        bytes = bytes + #text
        if bytes >= REPLY_BYTES then break end
    end
    return concat(parts)
end
