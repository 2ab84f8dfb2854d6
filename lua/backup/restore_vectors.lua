-- restore_vectors: elements of a document in its space's vector set (Redis 8).
-- KEYS: vectors:<space>:<digest>.
-- ARGV: <space>:<digest>, <doc>:<generation>, first chunk, then vectors (float32, little-endian).
-- Returns: ok.  Wakes: nobody.  Repeatable: yes.
-- Bound: one piece of 1 MiB.
verbs.restore_vectors = function(a)
    local key, element, first = P .. 'vectors:' .. args[a], args[a + 1], tonumber(args[a + 2])
    for i = a + 3, a + args[a - 1] - 1 do
        call('VADD', key, 'FP32', args[i], element .. ':' .. format('%d', first + i - a - 3))
    end
    return 'ok'
end
