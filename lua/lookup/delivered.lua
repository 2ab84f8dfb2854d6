-- delivered_lookups: the lookups' bytes were written to their engines: their delivery leases become whole ones. One
-- whose claim ended meanwhile is left alone.
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
