-- restore_unneeded: a lookup that no restored topic needs is dropped.
-- KEYS: lookup:<fingerprint> hash, lookup_alias, lookups.
-- Wakes: nobody.
-- Bound: one lookup.
-- Lane: add.  Home: cluster.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   fingerprint  name
-- Replies: ok
local lookups = require('lookup/lookups')
local call = redis.call

local function verb(turn, a)
    --- arguments
    if call('HGET', turn.prefix .. 'lookup:' .. fingerprint, 'refs') == '0' then lookups.forget(turn, fingerprint) end
    return 'ok'
end

return {restore_unneeded = verb}
