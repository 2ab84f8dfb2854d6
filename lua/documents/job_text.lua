-- job_text: a page of the text that a job works on, as it was stored.
-- KEYS: job:<job>, doc:<doc>, text:<doc>:<n>.  ARGV: job, lease, from (number of the first block).
-- Returns: lost | blocks as parts; none when there are no more.  Wakes: nobody.  Repeatable: yes.
-- Bound: ends with the block that reaches REPLY_BYTES.
verbs.job_text = function(a)
    local j = held_job(args[a], args[a + 1])
    if not j then return 'lost' end
    local got = call('HMGET', P .. 'doc:' .. j.doc, 'text', 'blocks')
    local key, parts, bytes = text_key(j.doc, got[1]), {}, 0
    for block = tonumber(args[a + 2]), got[2] - 1 do
        local text = call('HGET', key, format('%d', block))
        put_part(parts, text)
        bytes = bytes + #text
        if bytes >= REPLY_BYTES then break end
    end
    return concat(parts)
end
