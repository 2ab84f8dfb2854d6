-- restore_lookup: a lookup, before the topics that need it; and after them, those go that none needs.
-- KEYS: lookup:<fingerprint> hash, lookup_alias, lookups, lookups_of.
-- Wakes: nobody.
-- Bound: one lookup.
-- Lane: add.  Home: cluster.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   fingerprint  name
--   due          text? 24  ms; not to be claimed without
--   each pair 100:
--     field  text 1m
--     value  text? 64m
-- Replies: ok
verbs.restore_lookup = function(a)
    --- arguments
    local key = P .. 'lookup:' .. fingerprint
    close_lookup(fingerprint) -- a key that SCAN showed twice was read twice: the second time counts
    for i = pair_from, pair_to, 2 do
        if args[i] == 'alias' then call('HSET', P .. 'lookup_alias', args[i + 1], fingerprint) end
        if args[i] ~= 'refs' then call('HSET', key, args[i], args[i + 1]) end
    end
    call('HSETNX', key, 'refs', 0)
    if due ~= '' and call('ZADD', P .. 'lookups', format('%d', min(due, now_ms)), fingerprint) == 1 then
        local account = call('HGET', key, 'by')
        if account then call('HINCRBY', P .. 'lookups_of', account, 1) end
    end
    return 'ok'
end
