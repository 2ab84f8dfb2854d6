-- drain: an engine account gets no new claims (its polls are held and end empty), or gets them again.
-- What it works on, it finishes.
-- KEYS: drained set.  ARGV: nonce, account, is_drained ('1' or '0').
-- Returns: ok | replay.  Wakes: all nodes.  Repeatable: yes.
-- Bound: the accounts.
verbs.drain = function(a)
    if is_replayed(args[a]) then return 'replay' end
    call(args[a + 2] == '1' and 'SADD' or 'SREM', P .. 'drained', args[a + 1])
    publish('all', {'drained\n' .. concat(call('SMEMBERS', P .. 'drained'), ',')})
    return 'ok'
end
