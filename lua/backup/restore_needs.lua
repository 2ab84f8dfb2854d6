-- restore_needs: with several shards, restores which lookups a topic needs, after all topics.
-- KEYS: lookup:<fingerprint> hash, needs:<fingerprint> set.
-- Wakes: nobody.
-- Bound: the lookups named.
-- Lane: add.  Home: cluster.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   need  text 1k  "<topic>:<number>" (lookup/needs.lua)
--   each lookup 500:
--     fingerprint  name
-- Replies: ok
local call = redis.call

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    for i = lookup_from, lookup_to do
        if call('EXISTS', P .. 'lookup:' .. args[i]) == 1 then call('SADD', P .. 'needs:' .. args[i], need) end
    end
    return 'ok'
end

return {restore_needs = verb}
