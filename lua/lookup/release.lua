-- release_lookups: topics are gone that needed lookups, of several shards; a lookup goes with the last one that did.
-- Read out of the outbox of the topics' shard.
-- KEYS: needs:<fingerprint> set, released:<need> string with TTL, lookup:<fingerprint>, lookup_alias, lookups,
--   lookups_of.
-- Wakes: nobody.
-- Bound: the needs named.
-- Lane: first.  Home: cluster.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   each need 100:
--     text  text 1k  "<fingerprint> <topic>:<number>"
-- Replies: ok
local lookups = require('lookup/lookups')
local call = redis.call
local match = string.match

local RELEASED_S = 86400 -- no add-lookup that was under way is later

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    for i = need_from, need_to do
        local fingerprint, need = match(args[i], '^(%x+) (%S+)$')
        if need then
            local key = P .. 'needs:' .. fingerprint
            call('SET', P .. 'released:' .. need, '1', 'EX', RELEASED_S)
            if call('SREM', key, need) == 1 and call('EXISTS', key) == 0 then lookups.drop(turn, fingerprint) end
        end
    end
    return 'ok'
end

return {release_lookups = verb}
