-- restore_refs: restores how many queries need a lookup, after all topics; a lookup that none needs is dropped.
-- KEYS: lookup:<fingerprint> hash, lookup_alias, lookups, lookups_of.
-- Wakes: nobody.
-- Bound: one lookup.
-- Lane: add.  Home: cluster.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   fingerprint  name
--   refs         number
-- Replies: ok
local lookups = require('lookup/lookups')
local call = redis.call
local format = string.format

local function verb(turn, a)
    --- arguments
    local key = turn.prefix .. 'lookup:' .. fingerprint
    if call('EXISTS', key) == 0 then return 'ok' end
    call('HSET', key, 'refs', format('%d', refs))
    if refs == 0 then lookups.forget(turn, fingerprint) end
    return 'ok'
end

return {restore_refs = verb}
