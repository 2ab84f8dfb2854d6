-- recommend: keeps what a user recommends or flags, for engines to read.
-- When there are RECOMMENDATIONS_MAX, the oldest one goes of the user with most, of the account with most: nobody
-- pushes out what others said.
-- KEYS: t:<topic>, recommendations stream (fields r: JSON, a: account, u: user, n: bytes that are counted),
--   recommenders zset (account -> how many), recommenders:<account> zset (user -> how many),
--   recommended:<account>:<user> list (stream ids); stored.
-- Wakes: nobody.
-- Bound: one recommendation, and the oldest ones that go for it.
-- Lane: add.  Home: cluster.  Nonce: yes.  Full: refused.
-- Repeatable: stores it again.
-- Arguments:
--   topic           name
--   viewer          name?    must have a part in the topic
--   recommendation  json 4m
--   account         name
--   user            name     who recommends
--   is_known        flag     topic_part has said so, on the topic's shard
--   max_stored      number?  bytes that the account may have on this shard; without: none are counted
--   max_stored_per_user  number?  of them each of its users; no limit without
-- Replies: ok/ms | missing | stored, as of add | replay
local recommended = require('lookup/recommended')
local records = require('queue/records')
local stored = require('queue/stored')
local call = redis.call
local format = string.format

local RECOMMENDATIONS_MAX, DROP_RECOMMENDATIONS = 10000, 2

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    if not is_known and not records.has_part(turn, topic, viewer) then return 'missing' end
    local all = P .. 'recommendations'
    local more = {}
    if max_stored then
        local bytes = stored.whole(#recommendation)
        local refusal = stored.count(turn, account, account .. ' ' .. user, bytes, max_stored, max_stored_per_user)
        if refusal then return refusal end
        more = {'n', format('%d', bytes)}
    end
    local id = call('XADD', all, '*', 'r', recommendation, 'a', account, 'u', user, unpack(more))
    recommended.list(turn, id, account, user)
    for _ = 1, DROP_RECOMMENDATIONS do -- two: there may be more of them from an earlier version
        if call('XLEN', all) > RECOMMENDATIONS_MAX then recommended.drop(turn) end
    end
    return 'ok\n' .. turn.now_ms
end

return {recommend = verb}
