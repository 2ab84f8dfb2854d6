-- claim_lookup: the oldest lookup that nobody works on, leased: it may be claimed again once the
-- lease has passed, which is all that reverting takes.
-- KEYS: lookups zset, lookup:<fingerprint>, lookup_nodes set.
-- Wakes: nobody.
-- Bound: one lookup.
-- Lane: claim.  Home: cluster.  Nonce: yes.  Full: refused.
-- Repeatable: with a new nonce.
-- Arguments:
--   is_parking  flag
-- Replies: lookup/fingerprint/fragment/count/threshold | parked | empty | replay
verbs.claim_lookup = function(a)
    --- arguments
    local fingerprint = call('ZRANGEBYSCORE', P .. 'lookups', '-inf', now_ms, 'LIMIT', 0, 1)[1]
    if fingerprint then
        call('ZADD', P .. 'lookups', now_ms + lease_ms, fingerprint)
        local key = P .. 'lookup:' .. fingerprint
        local got = call('HMGET', key, 'fragment', 'count', 'threshold')
        call('HSET', key, 'claimed', got[2] .. ' ' .. got[3]) -- what its matches will answer
        return 'lookup\n' .. fingerprint .. '\n' .. concat(got, '\n')
    end
    if not is_parking then return 'empty' end
    call('SADD', P .. 'lookup_nodes', node)
    return 'parked'
end
