-- recommended: whose recommendations there are, so that of too many each account's go in its turn.
local call = redis.call

local function count(turn, account, user, delta)
    local P = turn.prefix
    local users = P .. 'recommenders:' .. account
    if tonumber(call('ZINCRBY', users, delta, user)) <= 0 then call('ZREM', users, user) end
    if tonumber(call('ZINCRBY', P .. 'recommenders', delta, account)) <= 0 then
        call('ZREM', P .. 'recommenders', account)
    end
end

-- What is known of an entry besides: whose it is, so that it is dropped in its turn. Without an account it is of
-- an earlier version.
local function list(turn, id, _, _, _, account, _, user)
    if not account then return end
    call('RPUSH', turn.prefix .. 'recommended:' .. account .. ':' .. user, id)
    count(turn, account, user, 1)
end

local function drop(turn)
    local P = turn.prefix
    local all = P .. 'recommendations'
    local oldest = call('XRANGE', all, '-', '+', 'COUNT', 1)[1]
    local account = #oldest[2] > 2 and call('ZREVRANGE', P .. 'recommenders', 0, 0)[1]
    local user = account and call('ZREVRANGE', P .. 'recommenders:' .. account, 0, 0)[1]
    local id = user and call('LPOP', P .. 'recommended:' .. account .. ':' .. user)
    if id then count(turn, account, user, -1) end
    call('XDEL', all, id or oldest[1]) -- without an account: of an earlier version
end

-- Drops those of a user, n at most of each account. Returns how many went. What an earlier version stored names no
-- user.
local function drop_of(turn, user, n)
    local P, gone_n = turn.prefix, 0
    for _, account in ipairs(call('ZRANGE', P .. 'recommenders', 0, -1)) do
        local ids = call('LPOP', P .. 'recommended:' .. account .. ':' .. user, n)
        if ids and #ids > 0 then
            call('XDEL', P .. 'recommendations', unpack(ids))
            count(turn, account, user, -#ids)
            gone_n = gone_n + #ids
        end
    end
    return gone_n
end

return {list = list, drop = drop, drop_of = drop_of}
