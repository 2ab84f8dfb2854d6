-- recommend: keeps what a user recommends or flags, for engines to read.
-- When there are RECOMMENDATIONS_MAX, the oldest one goes of the user with most, of the account with most: nobody
-- pushes out what others said.
-- KEYS: t:<topic>, recommendations stream (fields r: JSON, a: account, u: user), recommenders zset (account -> how
--   many), recommenders:<account> zset (user -> how many), recommended:<account>:<user> list (stream ids).
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
-- Replies: ok/ms | missing | replay
local RECOMMENDATIONS_MAX, DROP_RECOMMENDATIONS = 10000, 2

local function count_recommendation(account, user, delta)
    local users = P .. 'recommenders:' .. account
    if tonumber(call('ZINCRBY', users, delta, user)) <= 0 then call('ZREM', users, user) end
    if tonumber(call('ZINCRBY', P .. 'recommenders', delta, account)) <= 0 then
        call('ZREM', P .. 'recommenders', account)
    end
end

-- What is known of an entry besides: whose it is, so that it is dropped in its turn. Without an account it is of
-- an earlier version.
local function list_recommendation(id, _, _, _, account, _, user)
    if not account then return end
    call('RPUSH', P .. 'recommended:' .. account .. ':' .. user, id)
    count_recommendation(account, user, 1)
end

local function drop_recommendation()
    local all = P .. 'recommendations'
    local oldest = call('XRANGE', all, '-', '+', 'COUNT', 1)[1]
    local account = #oldest[2] > 2 and call('ZREVRANGE', P .. 'recommenders', 0, 0)[1]
    local user = account and call('ZREVRANGE', P .. 'recommenders:' .. account, 0, 0)[1]
    local id = user and call('LPOP', P .. 'recommended:' .. account .. ':' .. user)
    if id then count_recommendation(account, user, -1) end
    call('XDEL', all, id or oldest[1]) -- without an account: of an earlier version
end

verbs.recommend = function(a)
    --- arguments
    local got = call('HMGET', P .. 't:' .. topic, 'seq', 'u:' .. viewer)
    if not got[1] or (viewer ~= '' and not got[2]) then return 'missing' end
    local all = P .. 'recommendations'
    local id = call('XADD', all, '*', 'r', recommendation, 'a', account, 'u', user)
    list_recommendation(id, 'r', nil, 'a', account, 'u', user)
    for _ = 1, DROP_RECOMMENDATIONS do -- two: there may be more of them from an earlier version
        if call('XLEN', all) > RECOMMENDATIONS_MAX then drop_recommendation() end
    end
    return 'ok\n' .. now_ms
end
