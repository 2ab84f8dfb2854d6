-- restore_unneeded: a lookup that no restored topic needs is dropped.
-- KEYS: lookup:<fingerprint> hash, needs:<fingerprint> set, lookup_alias, lookups.
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
    local P, refs = turn.prefix, nil
    if turn.is_sharded then
        refs = call('SCARD', P .. 'needs:' .. fingerprint)
    else
        refs = tonumber(call('HGET', P .. 'lookup:' .. fingerprint, 'refs'))
    end
    if refs == 0 then lookups.drop(turn, fingerprint) end
    return 'ok'
end

return {restore_unneeded = verb}
