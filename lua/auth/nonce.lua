-- nonce: uses up a nonce for a request that needs nothing else from Redis.
-- KEYS: nonces:<day>.
-- Wakes: nobody.
-- Bound: one id.
-- Lane: first.  Home: nonce.  Nonce: yes.  Full: runs.
-- Repeatable: no.
-- Arguments: none.
-- Replies: ok | replay

local function verb(turn, a)
    --- arguments
    return 'ok'
end

return {nonce = verb}
