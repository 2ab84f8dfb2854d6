-- key: the cluster's key for tokens: the first node's proposal stays.
-- KEYS: token_key string.  ARGV: proposal (hex).  Returns: the key (hex).  Wakes: nobody.  Repeatable: yes.
-- Bound: one key.
verbs.key = function(a)
    call('SET', P .. 'token_key', args[a], 'NX')
    return call('GET', P .. 'token_key')
end
