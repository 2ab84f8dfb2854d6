-- delivered: turns delivery leases into full leases after the claims were written to their engines, and writes their
--   keys. A lease that has ended in the meantime is not restored. A claim that is answered before this is called for it
--   never has a key.
-- KEYS: leases zset, lease:<id> string with TTL.
-- Wakes: nobody.
-- Bound: the leases named.
-- Lane: first.  Home: topic.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   each claim 256:
--     lease   text 512  "<lease> <topic>"
--     record  text 24k  what its key says (queue/leases.lua)
-- Replies: ok
local leases = require('queue/leases')

local function verb(turn, a)
    --- arguments
    leases.confirm(turn, args, claim_from, claim_to)
    return 'ok'
end

return {delivered = verb}
