-- restore_unneeded: a lookup that no restored topic needs is dropped.
-- KEYS: lookup:<fingerprint> hash, lookup_alias, lookups.
-- Wakes: nobody.
-- Bound: one lookup.
-- Lane: add.  Home: cluster.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   fingerprint  name
-- Replies: ok
verbs.restore_unneeded = function(a)
    --- arguments
    if call('HGET', P .. 'lookup:' .. fingerprint, 'refs') == '0' then forget_lookup(fingerprint) end
    return 'ok'
end
