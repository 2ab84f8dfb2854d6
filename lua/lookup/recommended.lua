-- recommended: whose recommendations there are, so that of too many each account's go in its turn.
local stored = require('queue/stored')
local bounds = require('turn/bounds')
local call = redis.call
local LOOK_BYTES = bounds.LOOK_BYTES

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
local function list(turn, id, account, user)
    if not account then return end
    call('RPUSH', turn.prefix .. 'recommended:' .. account .. ':' .. user, id)
    count(turn, account, user, 1)
end

-- One that was restored, with its fields.
local function restore(turn, id, _, _, _, account, _, user, _, bytes)
    list(turn, id, account, user)
    if bytes then stored.count(turn, account, account .. ' ' .. user, tonumber(bytes)) end
end

-- Deletes an entry of that user, and gives back what it was counted with. Returns its bytes.
local function delete(turn, id, account, user)
    local all = turn.prefix .. 'recommendations'
    local entry = call('XRANGE', all, id, id)[1]
    if not entry then return 0 end
    call('XDEL', all, id)
    local fields = entry[2]
    if fields[8] then stored.count(turn, account, account .. ' ' .. user, -fields[8]) end
    return #fields[2]
end

local function drop(turn)
    local P = turn.prefix
    local all = P .. 'recommendations'
    local oldest = call('XRANGE', all, '-', '+', 'COUNT', 1)[1]
    local account = #oldest[2] > 2 and call('ZREVRANGE', P .. 'recommenders', 0, 0)[1]
    local user = account and call('ZREVRANGE', P .. 'recommenders:' .. account, 0, 0)[1]
    local id = user and call('LPOP', P .. 'recommended:' .. account .. ':' .. user)
    if id then
        count(turn, account, user, -1)
        delete(turn, id, account, user)
    else
        call('XDEL', all, oldest[1]) -- without an account: of an earlier version
    end
end

-- Drops those of a user, n at most of each account and LOOK_BYTES of all. Returns how many went. What an earlier
-- version stored names no user.
local function drop_of(turn, user, n)
    local P, gone_n, bytes = turn.prefix, 0, 0
    for _, account in ipairs(call('ZRANGE', P .. 'recommenders', 0, -1)) do
        local mine, went = P .. 'recommended:' .. account .. ':' .. user, 0
        while went < n and bytes < LOOK_BYTES do
            local id = call('LPOP', mine)
            if not id then break end
            went, bytes = went + 1, bytes + delete(turn, id, account, user)
        end
        if went > 0 then count(turn, account, user, -went) end
        gone_n = gone_n + went
    end
    return gone_n
end

return {list = list, restore = restore, drop = drop, drop_of = drop_of}
