-- job_parsed: stores the text of a document in the place of the bytes that it was read from.
-- KEYS: job:<job>, doc:<doc>, upload:<doc>, text:<doc>:<n>, space:<space>.
-- ARGV: job, lease, chars, cap (bytes), then each block of the text.
-- Returns: ok | lost | full/used/cap.  Wakes: nobody.  Repeatable: yes.
-- Bound: the text that it brings.
verbs.job_parsed = function(a)
    local j = held_job(args[a], args[a + 1])
    if not j then return 'lost' end
    local cap, first, last = tonumber(args[a + 3]), a + 4, a + args[a - 1] - 1
    local d = document_of(j.space, j.doc)
    local size, used = 0, space_bytes(j.space)
    for i = first, last do size = size + #args[i] end
    if used - call('STRLEN', P .. 'upload:' .. j.doc) - loose_text_bytes(d) + size > cap then
        return 'full\n' .. format('%d', used) .. '\n' .. format('%d', cap)
    end
    shelve_text(j.doc, d)
    for i = first, last do call('HSET', text_key(j.doc, j.lease), format('%d', i - first), args[i]) end
    call('UNLINK', P .. 'upload:' .. j.doc)
    call('HSET', d.key, 'text', j.lease, 'text_bytes', format('%d', size), 'chars', args[a + 2],
         'blocks', format('%d', last - first + 1))
    count_bytes(j.doc, j.space)
    call('HSET', j.key, 'stage', 'CHUNK', 'updated', now_text)
    return 'ok'
end
