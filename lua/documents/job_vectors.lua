-- job_vectors: puts vectors of a job into the space's vector set (Redis 8). They are found once the job is
-- stored; if that never happens they go with the job.
-- KEYS: job:<job>, vectors:<space>:<digest> vector set.
-- ARGV: job, lease, digest (embedding_of), first chunk, then n vectors (float32, little-endian).
-- Returns: ok | lost.  Wakes: nobody.  Repeatable: yes.
-- Bound: the vectors that it brings.
verbs.job_vectors = function(a)
    local j = held_job(args[a], args[a + 1])
    if not j then return 'lost' end
    local digest, first, n = args[a + 2], tonumber(args[a + 3]), args[a - 1] - 4
    -- Written down before they are there: whatever Redis refuses then, what it took is found.
    call('HSET', j.key, 'digest', digest, 'vectors_n', format('%d', max(first + n, tonumber(j.vectors_n))))
    local key, element = P .. 'vectors:' .. j.space .. ':' .. digest, j.doc .. ':' .. j.lease .. ':'
    for i = 0, n - 1 do
        call('VADD', key, 'FP32', args[a + 4 + i], element .. format('%d', first + i))
    end
    return 'ok'
end
