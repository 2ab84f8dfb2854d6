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

-- May a query for `model` wait? Looking for work costs a step per model that is waited for, and what
-- models are called is up to those who ask. Fewer queries wait for fewer models.
local function is_room_for(model, models_max)
    return meta_load().depth < models_max or call('SISMEMBER', P .. 'models', model) == 1
        or call('SCARD', P .. 'models') < models_max
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
