-- recommend: stores a recommendation or flag of a user, for engines to read. It removes the opposite ones that the same
-- user of the same account sent for the same fragment.
-- Beyond RECOMMENDATIONS_MAX, it drops the oldest one of the user who has most, within the account that has most, so
-- that no user can push out the recommendations of others.
-- KEYS: t:<topic>, recommendations stream (fields r: JSON, a: account, u: user, n: bytes counted,
--   j: the fragment's digest, and P or F), unrecommended stream, judged:<account>:<user> zset,
--   recommenders zset (account -> how many), recommenders:<account> zset (user -> how many),
--   recommended:<account>:<user> list (stream ids); stored; turn/made.lua.
-- Wakes: nobody.
-- Bound: one recommendation, one that is dropped for it, and 100 that it undoes.
-- Lane: add.  Home: cluster.  Nonce: yes.  Full: refused.  Durable: yes.
-- Repeatable: stores it again, unless it has a key.
-- Arguments:
--   topic           name
--   viewer          name?    must have access to the topic
--   recommendation  json 4m
--   account         name
--   user            name     who recommends
--   is_known        flag     topic_tie has confirmed the access, on the topic's shard
--   max_stored      number?  bytes that the account may store on this shard; absent: bytes are not counted
--   max_stored_per_user  number?  bytes that each of its users may store; absent: no limit
--   digest          name?    of the fragment that is promoted or flagged
--   is_flag         flag     the fragment is flagged
--   key             text? 2k turn/made.lua
-- Replies: reused | ok/ms/id/how many it undid | missing | stored, as of add | replay
local recommended = require('lookup/recommended')
local records = require('queue/records')
local stored = require('queue/stored')
local made = require('turn/made')
local call = redis.call
local format = string.format

local RECOMMENDATIONS_MAX = 10000

local function verb(turn, a)
    --- arguments
    local again = made.again(turn, key)
    if again then return again end
    local P = turn.prefix
    if not is_known and not records.has_tie(turn, topic, viewer) then return 'missing' end
    local all = P .. 'recommendations'
    local more, undone_n, kind, judged = {}, 0, is_flag and 'F' or 'P', nil
    if max_stored then
        local bytes = stored.whole(#recommendation)
        local refusal = stored.count(turn, account, account .. ' ' .. user, bytes, max_stored, max_stored_per_user)
        if refusal then return refusal end
        more = {'n', format('%d', bytes)}
    end
    if digest ~= '' then
        judged = digest .. ' ' .. kind
        more = {'n', more[2] or '0', 'j', judged}
        undone_n = recommended.judge(turn, account, user, digest, kind)
    end
    local id = call('XADD', all, '*', 'r', recommendation, 'a', account, 'u', user, unpack(more))
    recommended.list(turn, id, account, user, judged)
    if call('XLEN', all) > RECOMMENDATIONS_MAX then recommended.drop(turn) end
    return made.keep(turn, key, 'ok\n' .. turn.now_ms .. '\n' .. id .. '\n' .. format('%d', undone_n))
end

return {recommend = verb}
