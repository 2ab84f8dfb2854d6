-- unbind_key: with several shards, undoes the binding of a refused add-query: its idempotency key is not used up. Equal
--   requests that were admitted keep it.
-- KEYS: bound:key:<account>:<key> string with TTL.
-- Wakes: nobody.
-- Bound: one key.
-- Lane: first.  Home: key.  Nonce: no.  Full: runs.
-- Repeatable: once per request that was admitted.
-- Arguments:
--   key     text 1k  "<account>:<key>"
--   digest  name     of the body (hex)
-- Replies: ok
local bound = require('queue/bound')

local function verb(turn, a)
    --- arguments
    bound.unbind(turn, key, digest)
    return 'ok'
end

return {unbind_key = verb}
