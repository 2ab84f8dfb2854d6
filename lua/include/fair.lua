-- fair: who is served next. Users take turns (start-time fair queueing, Goyal et al. 1996, with
-- one claim as the unit of service): the zset turns:<model> holds every user with Open queries by
-- the virtual time of its next turn, open:<model>:<user> that user's topics by age. A claim takes
-- the user with the lowest virtual time and moves it 1/weight further, so 1,000 questions of one
-- user delay another user's single one by at most one turn. A user has one virtual time, in whatever
-- models it asks. A user that comes (back) starts at the shard's virtual time: being away saves
-- nothing up. And coming back at once gains nothing: until the virtual time has passed the end of its
-- last turn, that is where it starts (the zset served, user -> virtual time; it goes when there is no
-- work left to be fair about).

local USERS_MAX = 1000 -- of a model, in what operators look at
local FRONT = -1 -- a turn before every virtual time: a query that came back is served next

local function models_with_work()
    with_work = with_work or call('SMEMBERS', P .. 'models')
    return with_work
end

local function enqueue(model, user, topic, at_us, is_front)
    local queue, turns = P .. 'open:' .. model .. ':' .. user, P .. 'turns:' .. model
    -- A topic that has newer Open queries takes the age of what comes back to it.
    call('ZADD', queue, is_front and 'LT' or 'NX', at_us, topic)
    if is_front then
        call('ZADD', turns, FRONT, user)
    elseif call('ZADD', turns, 'NX', meta_load().vt, user) == 1 then
        local ends = tonumber(call('ZSCORE', P .. 'served', user))
        if ends and ends > meta.vt then call('ZADD', turns, ends, user) end
    end
    call('SADD', P .. 'models', model)
    with_work = nil
end

-- An account's share of what all have together: whatever one sends, in the name of however many users, there is
-- room for others. The hash `shares` counts Open queries: "<account>" all of an account, "<account>:<model>" those
-- for that model, and "<account>:" its models; `default` is not counted among models.
local MODELS_MAX, MODELS_OF_ACCOUNT = 1000, 100

-- Half of the Open queries, and half of the open lookups, is the most that one account may have.
local function share_of_queue()
    return max(1, ceil(queue_max / 2))
end

local function add_share(field, delta)
    local n = call('HINCRBY', P .. 'shares', field, delta)
    if n <= 0 then call('HDEL', P .. 'shares', field) end
    return n
end

flush_shares = function()
    if meta and meta.depth <= 0 then
        if next(share_delta) then call('DEL', P .. 'shares') end
        share_delta = {}
        return
    end
    for field, delta in pairs(share_delta) do
        local n = delta ~= 0 and add_share(field, delta)
        local account = n and match(field, '^([^:]+):')
        if account and n > 0 and n <= delta then add_share(account .. ':', 1) end
        if account and n <= 0 and n > delta then add_share(account .. ':', -1) end
    end
    share_delta = {}
end

-- Has the account as much as it may have, so that one more query for `model` is refused? Returns how much. With
-- fewer Open queries in all than a share nothing is looked up.
local function share_taken(account, model)
    local depth, share = meta_load().depth, share_of_queue()
    if depth >= share then
        local mine = (tonumber(call('HGET', P .. 'shares', account)) or 0) + (share_delta[account] or 0)
        if mine >= share then return mine end
    end
    if model == 'default' or depth < MODELS_OF_ACCOUNT then return nil end
    flush_shares()
    local got = call('HMGET', P .. 'shares', account .. ':' .. model, account .. ':')
    local models = tonumber(got[2]) or 0
    return not got[1] and models >= MODELS_OF_ACCOUNT and models or nil
end

-- May a query for `model` wait? Looking for work costs a step per model that is waited for, and what
-- models are called is up to those who ask. Fewer queries wait for fewer models. `default` always has room.
local function is_room_for(model)
    return model == 'default' or meta_load().depth < MODELS_MAX or call('SISMEMBER', P .. 'models', model) == 1
        or call('SCARD', P .. 'models') < MODELS_MAX
end

-- Takes a topic out of a user's queue; a user without topics leaves the turns, a model without
-- users the set of models. Returns true when the user has more.
local function dequeue(model, user, topic)
    local queue = P .. 'open:' .. model .. ':' .. user
    call('ZREM', queue, topic)
    if call('EXISTS', queue) == 1 then return true end
    local turns = P .. 'turns:' .. model
    call('ZREM', turns, user)
    if call('EXISTS', turns) == 0 then
        call('SREM', P .. 'models', model)
        with_work = nil
        if meta_load().depth == 0 then call('DEL', P .. 'served') end
    end
    return false
end

-- The topic whose turn it is for an engine that takes `models`; nil when there is no work.
-- Returns topic, model, user, virtual time.
local function next_topic(models)
    local best_vt, best_model, best_user
    local models_now = models_with_work()
    looks = looks + #models_now
    for i = 1, #models_now do
        local model = models_now[i]
        if takes_model(models, model) then
            local first = call('ZRANGE', P .. 'turns:' .. model, 0, 0, 'WITHSCORES')
            local vt = tonumber(first[2])
            if vt and (not best_vt or vt < best_vt) then
                best_vt, best_model, best_user = vt, model, first[1]
            end
        end
    end
    if not best_user then return nil end
    local topic = call('ZRANGE', P .. 'open:' .. best_model .. ':' .. best_user, 0, 0)[1]
    return topic, best_model, best_user, best_vt
end

-- Moves a served user to its next turn, in all models.
local function charge(model, user, vt, weight, has_more)
    local m = meta_load()
    local start, served = max(m.vt, vt), P .. 'served'
    local ends = format('%.6f', start + 1 / weight)
    if start ~= m.vt then
        m.vt = start
        meta_dirty = true
        call('ZREMRANGEBYSCORE', served, '-inf', start)
    end
    if has_more then call('ZADD', P .. 'turns:' .. model, ends, user) end
    if m.depth == 0 then return end
    call('ZADD', served, ends, user)
    local models_now = models_with_work()
    for i = 1, #models_now do
        local turns = P .. 'turns:' .. models_now[i]
        local theirs = models_now[i] ~= model and tonumber(call('ZSCORE', turns, user))
        if theirs and theirs ~= FRONT then call('ZADD', turns, 'GT', ends, user) end
    end
end

-- Answers a second over the last two minutes; nil while there were none.
local function service_rate()
    local minute = floor(now_s / 60)
    local done = (tonumber(call('HGET', P .. 'stat:' .. minute, 'done')) or 0)
        + (tonumber(call('HGET', P .. 'stat:' .. (minute - 1), 'done')) or 0)
    if done == 0 then return nil end
    return done / (60 + now_s % 60)
end

local function eta_seconds(queries_before)
    local rate = service_rate()
    if not rate then return '' end
    return format('%d', ceil((queries_before + 1) / rate))
end
