-- nonce_of_refused: with several shards, undoes the mark of a refused add-query: it may not be sent again with its
--   nonce. Equal requests that were admitted may.
-- KEYS: nonce_marks:<minute> set with TTL, resent:<nonce> string with TTL.
-- Wakes: nobody.
-- Bound: one nonce.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: once per request that was admitted.
-- Arguments:
--   nonce  name  its id (hex); its shard is that of its bytes
--   mark   name  as in nonce_of_add
-- Replies: ok
local nonce_marks = require('queue/nonce_marks')

local function verb(turn, a)
    --- arguments
    nonce_marks.give_back(turn, nonce, mark)
    return 'ok'
end

return {nonce_of_refused = verb}
