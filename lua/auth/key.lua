-- key: returns the cluster's token key; the first proposal of a node is kept.
-- KEYS: token_key string.
-- Wakes: nobody.
-- Bound: one key.
-- Lane: first.  Home: cluster.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   proposal  name  hex
-- Replies: the key (hex)
local call = redis.call

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    call('SET', P .. 'token_key', proposal, 'NX')
    return call('GET', P .. 'token_key')
end

return {key = verb}
