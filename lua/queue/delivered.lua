-- delivered: turns delivery leases into full leases after the claims were written to their engines. XX: a lease that
--   has ended in the meantime is not restored.
-- KEYS: leases zset.
-- Wakes: nobody.
-- Bound: the leases named.
-- Lane: first.  Home: topic.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   each claim 256:
--     lease  text 512  "<lease> <topic>"
-- Replies: ok
local leases = require('queue/leases')

local function verb(turn, a)
    --- arguments
    for i = claim_from, claim_to do
        leases.keep(turn, args[i])
    end
    return 'ok'
end

return {delivered = verb}
