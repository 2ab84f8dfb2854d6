-- restore_unneeded: a lookup that no restored topic needs is dropped.
-- KEYS: lookup:<fingerprint> hash, lookup_alias, lookups.  ARGV: fingerprint.
-- Returns: ok.  Wakes: nobody.  Repeatable: yes.
-- Bound: one lookup.
verbs.restore_unneeded = function(a)
    if call('HGET', P .. 'lookup:' .. args[a], 'refs') == '0' then forget_lookup(args[a]) end
    return 'ok'
end
