-- job_parsed: stores the text of a document in the place of the bytes that it was read from.
-- KEYS: job:<job>, doc:<doc>, upload:<doc>, text:<doc>:<n>, space:<space>.
-- Wakes: nobody.
-- Bound: the text that it brings.
-- Lane: first.  Home: space.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   job    name
--   lease  text 20
--   chars  digits
--   cap    number   bytes
--   each block 5000:
--     text  text 8k  of the text
-- Replies: ok | lost | full/used/cap
verbs.job_parsed = function(a)
    --- arguments
    local j = held_job(job, lease)
    if not j then return 'lost' end
    local d = document_of(j.space, j.doc)
    local size, used = 0, space_bytes(j.space)
    for i = block_from, block_to do size = size + #args[i] end
    if used - call('STRLEN', P .. 'upload:' .. j.doc) - loose_text_bytes(d) + size > cap then
        return 'full\n' .. format('%d', used) .. '\n' .. format('%d', cap)
    end
    shelve_text(j.doc, d)
    for i = block_from, block_to do
        call('HSET', text_key(j.doc, j.lease), format('%d', i - block_from), args[i])
    end
    call('UNLINK', P .. 'upload:' .. j.doc)
    call('HSET', d.key, 'text', j.lease, 'text_bytes', format('%d', size), 'chars', chars,
         'blocks', format('%d', block_to - block_from + 1))
    count_bytes(j.doc, j.space)
    call('HSET', j.key, 'stage', 'CHUNK', 'updated', now_text)
    return 'ok'
end
