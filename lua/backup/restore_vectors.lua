-- restore_vectors: restores elements of a document in its space's vector set (Redis 8).
-- KEYS: vectors:<space>:<digest>.
-- Wakes: nobody.
-- Bound: one piece of 1 MiB.
-- Lane: add.  Home: space.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   space     text 1k  "<space>:<digest>"
--   document  text 1k  "<doc>:<generation>"
--   first     text 16  chunk
--   each vector 64:
--     floats  bytes 32k  float32, little-endian
-- Replies: ok
local call = redis.call
local format = string.format

local function verb(turn, a)
    --- arguments
    for i = vector_from, vector_to do
        local chunk = format('%d', first + i - vector_from)
        call('VADD', turn.prefix .. 'vectors:' .. space, 'FP32', args[i], document .. ':' .. chunk)
    end
    return 'ok'
end

return {restore_vectors = verb}
