-- job_vectors: puts vectors of a job into the space's vector set (Redis 8). Searches find them once the job is stored;
--   if that never happens, they are deleted with the job.
-- KEYS: job:<job>, vectors:<space>:<digest> vector set.
-- Wakes: nobody.
-- Bound: the vectors in the call.
-- Lane: first.  Home: space.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   job     name
--   lease   text 20
--   digest  name     embedding_of
--   first   number   chunk
--   each vector 64:
--     floats  bytes 32k  float32, little-endian
-- Replies: ok | lost
local jobs = require('documents/jobs')
local call = redis.call
local format = string.format
local max = math.max

local function verb(turn, a)
    --- arguments
    local j = jobs.read_held(turn, job, lease)
    if not j then return 'lost' end
    local n = vector_to - vector_from + 1
    -- Written down before they are there: whatever Redis refuses then, what it took is found.
    call('HSET', j.key, 'digest', digest, 'vectors_n', format('%d', max(first + n, tonumber(j.vectors_n))))
    local key, element = turn.prefix .. 'vectors:' .. j.space .. ':' .. digest, j.doc .. ':' .. j.lease .. ':'
    for i = 0, n - 1 do
        call('VADD', key, 'FP32', args[vector_from + i], element .. format('%d', first + i))
    end
    return 'ok'
end

return {job_vectors = verb}
