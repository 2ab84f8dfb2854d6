-- unbind: an add-query was refused: it has not used up its idempotency key, and may not be sent again with its nonce.
-- Other requests that were equal, and let through, keep both.
-- KEYS: bound:<name> string with TTL.
-- Wakes: nobody.
-- Bound: one name.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: once per request that was let through.
-- Arguments:
--   name  text 1k  "nonce:<nonce>" or "key:<account>:<key>"; its shard is that of what follows the first colon
--   to    name     the mark or digest
-- Replies: ok
local bound = require('queue/bound')

local function verb(turn, a)
    --- arguments
    bound.unbind(turn, name, to)
    return 'ok'
end

return {unbind = verb}
