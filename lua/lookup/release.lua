-- release_lookups: with several shards, drops the needs of deleted topics, and each lookup that no topic needs any
-- more. A node reads them from the outbox of the topics' shard.
-- KEYS: needs:<fingerprint> set, released:<digest> string with TTL, lookup:<fingerprint>, lookup_alias, lookups,
--   lookups_of.
-- Wakes: nobody.
-- Bound: the needs named.
-- Lane: first.  Home: cluster.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   each need 100:
--     text  text 1k  "<fingerprint> <topic>:<number>"; and " part" when the topic is there still
-- Replies: ok
local lookups = require('lookup/lookups')
local needs = require('lookup/needs')
local bounds = require('turn/bounds')
local call = redis.call
local match = string.match

local RELEASED_S = 86400 -- no add-lookup that was under way is later

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    for i = need_from, need_to do
        local fingerprint, need, rest = match(args[i], '^(%x+) (%S+)(.*)$')
        bounds.note_read(turn, 4, 0)
        if need then
            local key = P .. 'needs:' .. fingerprint
            if rest == '' then call('SET', needs.released_key(turn, need), '1', 'EX', RELEASED_S) end
            if call('SREM', key, need) == 1 and call('EXISTS', key) == 0 then lookups.drop(turn, fingerprint) end
        end
    end
    return 'ok'
end

return {release_lookups = verb}
