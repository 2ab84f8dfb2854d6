-- delivered_lookups: turns delivery leases into full leases after the lookups were written to their engines. A lookup
--   whose claim has ended in the meantime is left unchanged.
-- KEYS: lookup:<fingerprint>, lookups.
-- Wakes: nobody.
-- Bound: the claims named.
-- Lane: first.  Home: cluster.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   each claim 256:
--     lease  text 512  "<lease> <fingerprint>"
-- Replies: ok
local lookups = require('lookup/lookups')
local match = string.match

local function verb(turn, a)
    --- arguments
    for i = claim_from, claim_to do
        local lease, fingerprint = match(args[i], '^(%d+) (%S+)$')
        if lease then lookups.keep(turn, fingerprint, lease) end
    end
    return 'ok'
end

return {delivered_lookups = verb}
