-- give_back_lookup: returns a lookup claim that never reached an engine (its client left, no poll was parked). The
--   lookup is the next one to be claimed, unless it was lost so often when bytes of it were on their way that it may be
--   what ended the connections: then it waits for a lease.
-- KEYS: lookup:<fingerprint>, lookups, queue/idle.lua.
-- Wakes: one parked poll, by hand-over.
-- Bound: one lookup, and what lookups.offer hands over.
-- Lane: first.  Home: cluster.  Nonce: no.  Full: runs.
-- Repeatable: yes; a lease that is gone is ignored.
-- Arguments:
--   fingerprint  name
--   lease        text 20
--   sent         flag     bytes of it were
-- Replies: ok
local lookups = require('lookup/lookups')

local function verb(turn, a)
    --- arguments
    lookups.reopen(turn, fingerprint, lease, sent)
    return 'ok'
end

return {give_back_lookup = verb}
