-- match: stores an engine's matches for a lookup. The last reply wins.
-- Stops this race: a larger Count is requested while an engine works on the smaller one; its matches are kept, and the
--   lookup stays open. A fingerprint without the newline is resolved unless it is another fragment's own.
-- KEYS: lookup:<fingerprint>, lookup_alias, lookups, stored.
-- Wakes: nobody.
-- Bound: one lookup.
-- Lane: first.  Home: cluster.  Nonce: yes.  Full: refused.  Durable: yes.
-- Repeatable: yes.
-- Arguments:
--   fingerprint  name
--   matches      json 1m  an array
-- Replies: ok | missing | replay
local lookups = require('lookup/lookups')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local key = P .. 'lookup:' .. fingerprint
    if call('EXISTS', key) == 0 then
        fingerprint = call('HGET', P .. 'lookup_alias', fingerprint)
        if not fingerprint then return 'missing' end
        key = P .. 'lookup:' .. fingerprint
    end
    local got = call('HMGET', key, 'count', 'threshold', 'claimed', 'stored')
    call('HSET', key, 'matches', matches)
    if got[4] then lookups.count_matches(turn, fingerprint, got[4], #matches) end
    if not got[3] or got[3] == got[1] .. ' ' .. got[2] then lookups.close(turn, fingerprint) end
    return 'ok'
end

return {match = verb}
