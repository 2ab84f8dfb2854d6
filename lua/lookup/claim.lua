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
local call = redis.call
local concat = table.concat

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local fingerprint = call('ZRANGEBYSCORE', P .. 'lookups', '-inf', turn.now_ms, 'LIMIT', 0, 1)[1]
    if fingerprint then
        call('ZADD', P .. 'lookups', turn.now_ms + turn.lease_ms, fingerprint)
        local key = P .. 'lookup:' .. fingerprint
        local got = call('HMGET', key, 'fragment', 'count', 'threshold')
        call('HSET', key, 'claimed', got[2] .. ' ' .. got[3]) -- what its matches will answer
        return 'lookup\n' .. fingerprint .. '\n' .. concat(got, '\n')
    end
    if not is_parking then return 'empty' end
    call('SADD', P .. 'lookup_nodes', turn.node)
    return 'parked'
end

return {claim_lookup = verb}
