-- shares: counts Open queries and limits each account's share of them, so that one account, with any number of users,
-- leaves room for others. The hash `waiting` counts Open queries by account and user. The hash `shares` counts them,
-- too: "<account>" all of an account, "<account>:<model>" those for that model, and "<account>:" its models; `default`
-- is not counted among models. The hash `depths` counts them per model, for operators and for whatever scales engines;
-- what it does not count is for `default`. Nodes that wait for room in the queue (the set vacancy_nodes, and `vacancy`
-- in meta, so that only then it is looked at) are notified once by the turn that makes some.
local counters = require('turn/counters')
local events = require('turn/events')
local share = require('turn/share')
local call = redis.call
local match = string.match
local ceil, max = math.ceil, math.max

local MODELS_MAX, MODELS_OF_ACCOUNT = 1000, 100

-- Counts Open queries: per account and user for max_waiting, in all for queue_max, and per account, and of it
-- per model, for its share of both.
local function count(turn, account, user, model, delta)
    local waiting, shares, field = turn.waiting_deltas or {}, turn.share_deltas or {}, account .. ' ' .. user
    turn.waiting_deltas, turn.share_deltas = waiting, shares
    waiting[field] = (waiting[field] or 0) + delta
    shares[account] = (shares[account] or 0) + delta
    if model ~= 'default' then
        field = account .. ':' .. model
        shares[field] = (shares[field] or 0) + delta
        local depths = turn.depth_deltas or {}
        turn.depth_deltas = depths
        depths[model] = (depths[model] or 0) + delta
    end
    counters.change_depth(turn, delta)
end

local function open_count(turn, account, user)
    local field, deltas = account .. ' ' .. user, turn.waiting_deltas
    return (tonumber(call('HGET', turn.prefix .. 'waiting', field)) or 0) + (deltas and deltas[field] or 0)
end

-- The same of all users of an account.
local function open_of_account(turn, account)
    local deltas = turn.share_deltas
    return (tonumber(call('HGET', turn.prefix .. 'shares', account)) or 0) + (deltas and deltas[account] or 0)
end

-- How many queries may be Open on this shard: its part of queue_max.
local function room(turn)
    if not turn.is_sharded then return turn.settings.queue_max end
    return max(1, ceil(turn.settings.queue_max / turn.settings.shard_n))
end

-- All open lookups are on one shard.
local function share_of_lookups(turn)
    return share.of(turn.settings.queue_max)
end

local function add_share(turn, field, delta)
    local key = turn.prefix .. 'shares'
    local n = call('HINCRBY', key, field, delta)
    if n <= 0 then call('HDEL', key, field) end
    return n
end

local function flush_shares(turn)
    local deltas = turn.share_deltas
    if not deltas then return end
    turn.share_deltas = nil
    if counters.load(turn).depth <= 0 then
        if next(deltas) then call('DEL', turn.prefix .. 'shares') end
        return
    end
    for field, delta in pairs(deltas) do
        local n = delta ~= 0 and add_share(turn, field, delta)
        local account = n and match(field, '^([^:]+):')
        if account and n > 0 and n <= delta then add_share(turn, account .. ':', 1) end
        if account and n <= 0 and n > delta then add_share(turn, account .. ':', -1) end
    end
end

-- Has the account as much as it may have, so that one more query for `model` is refused? Returns how much, and whether
-- that is of the `account` or its `models`. With fewer Open queries in all (`depth`) than a share nothing is looked up.
local function share_taken(turn, account, model, depth)
    local most = share.of(room(turn))
    if depth >= most then
        local mine = open_of_account(turn, account)
        if mine >= most then return mine, 'account' end
    end
    if model == 'default' or depth < MODELS_OF_ACCOUNT then return nil end
    flush_shares(turn)
    local got = call('HMGET', turn.prefix .. 'shares', account .. ':' .. model, account .. ':')
    local models = tonumber(got[2]) or 0
    if not got[1] and models >= MODELS_OF_ACCOUNT then return models, 'models' end
    return nil
end

-- How many more Open queries the account may have by its share. As above, without a look while there are few.
local function share_left(turn, account, depth)
    local most = share.of(room(turn))
    return most - (depth < most and depth or open_of_account(turn, account))
end

-- May a query for `model` wait? Looking for work costs a step per model that is waited for, and what
-- models are called is up to those who ask. Fewer queries wait for fewer models. `default` always has room.
local function is_room_for(turn, model, depth)
    if model == 'default' or depth < MODELS_MAX then return true end
    local key = turn.prefix .. 'models'
    return call('SISMEMBER', key, model) == 1 or call('SCARD', key) < MODELS_MAX
end

local function flush_depths(turn)
    local key, deltas = turn.prefix .. 'depths', turn.depth_deltas
    if not deltas then return end
    turn.depth_deltas = nil
    for model, delta in pairs(deltas) do
        if delta ~= 0 and call('HINCRBY', key, model, delta) <= 0 then call('HDEL', key, model) end
    end
end

-- No query is Open for that model: whatever was counted, this is certain.
local function forget_model(turn, model)
    if turn.depth_deltas then turn.depth_deltas[model] = nil end
    call('HDEL', turn.prefix .. 'depths', model)
end

-- This node is notified when there is room again.
local function await_vacancy(turn)
    counters.load(turn).vacancy = '1'
    call('HSET', turn.prefix .. 'meta', 'vacancy', 1)
    call('SADD', turn.prefix .. 'vacancy_nodes', turn.node)
end

local function notify_vacancy(turn)
    local P = turn.prefix
    local nodes = call('SMEMBERS', P .. 'vacancy_nodes')
    for i = 1, #nodes do events.send(turn, nodes[i], 'vacancy') end
    call('UNLINK', P .. 'vacancy_nodes')
    call('HDEL', P .. 'meta', 'vacancy')
end

local function flush(turn)
    local key, deltas, is_less = turn.prefix .. 'waiting', turn.waiting_deltas, false
    if not deltas then return end
    for field, delta in pairs(deltas) do
        if delta ~= 0 and call('HINCRBY', key, field, delta) <= 0 then call('HDEL', key, field) end
        is_less = is_less or delta < 0
    end
    flush_shares(turn)
    flush_depths(turn)
    if is_less and counters.load(turn).vacancy then notify_vacancy(turn) end
end

return {
    count = count, open_count = open_count, open_of_account = open_of_account, room = room,
    share_of_lookups = share_of_lookups, share_taken = share_taken, share_left = share_left, is_room_for = is_room_for,
    forget_model = forget_model, await_vacancy = await_vacancy, flush = flush,
}
