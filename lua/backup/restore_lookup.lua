-- restore_lookup: restores a lookup before the topics that need it. Lookups that no topic needs are deleted afterwards.
-- KEYS: lookup:<fingerprint> hash, lookup_alias, lookups, lookups_of, stored.
-- Wakes: nobody.
-- Bound: one lookup.
-- Lane: add.  Home: cluster.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   fingerprint  name
--   due          text? 24  ms; not to be claimed without
--   each pair 100:
--     field  text 1m
--     value  text? 64m
-- Replies: ok
local lookups = require('lookup/lookups')
local stored = require('queue/stored')
local call = redis.call
local format, match = string.format, string.match
local min = math.min

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local key = P .. 'lookup:' .. fingerprint
    lookups.close(turn, fingerprint) -- a key that SCAN showed twice was read twice: the second time counts
    local had = call('HGET', key, 'stored')
    if had then lookups.count_matches(turn, fingerprint, had, 0) end
    for i = pair_from, pair_to, 2 do
        if args[i] == 'alias' then call('HSET', P .. 'lookup_alias', args[i + 1], fingerprint) end
        if args[i] ~= 'refs' then call('HSET', key, args[i], args[i + 1]) end
    end
    local bytes, account = match(call('HGET', key, 'stored') or '', '^(%d+) (%S+)$')
    if bytes then stored.change(turn, account, tonumber(bytes)) end
    call('HSETNX', key, 'refs', 0)
    local owner = lookups.owner_of(turn, fingerprint)
    if due ~= '' and lookups.put(turn, fingerprint, owner, format('%d', min(due, turn.now_ms))) == 1 then
        local by = call('HGET', key, 'by')
        if by then call('HINCRBY', P .. 'lookups_of', by, 1) end
    end
    return 'ok'
end

return {restore_lookup = verb}
