-- nonce: uses up a nonce for a request that needs nothing else of Redis.
-- KEYS: nonces:<day>.  ARGV: nonce.  Returns: ok | replay.  Wakes: nobody.  Repeatable: no.
-- Bound: one id.
verbs.nonce = function(a)
    return is_replayed(args[a]) and 'replay' or 'ok'
end
