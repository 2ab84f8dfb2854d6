-- match: what an engine found for a lookup. The last word counts.
-- KEYS: lookup:<fingerprint>, lookup_alias, lookups.  ARGV: nonce, fingerprint, matches (JSON array).
-- Returns: ok | missing | replay.  Wakes: nobody.  Repeatable: yes.
verbs.match = function(a)
    if is_replayed(args[a]) then return 'replay' end
    local fingerprint = args[a + 1]
    fingerprint = call('HGET', P .. 'lookup_alias', fingerprint) or fingerprint
    local key = P .. 'lookup:' .. fingerprint
    if call('EXISTS', key) == 0 then return 'missing' end
    call('HSET', key, 'matches', args[a + 2])
    call('ZREM', P .. 'lookups', fingerprint)
    return 'ok'
end
