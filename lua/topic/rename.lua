-- rename: a user's own name for one of its topics.
-- KEYS: t:<topic>, names:<user> hash.  ARGV: nonce, user, topic, name (JSON).
-- Returns: ok | forbidden (no such topic of that user) | replay.  Wakes: nobody.  Repeatable: yes.
-- Bound: one name.
verbs.rename = function(a)
    if is_replayed(args[a]) then return 'replay' end
    local user, topic = args[a + 1], args[a + 2]
    if call('HEXISTS', P .. 't:' .. topic, 'u:' .. user) == 0 then return 'forbidden' end
    call('HSET', P .. 'names:' .. user, topic, args[a + 3])
    return 'ok'
end
