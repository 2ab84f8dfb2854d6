-- fair: decides who is served next. Users take turns (start-time fair queueing, Goyal et al. 1996, with one claim as
-- the unit of service): the zset turns:<model> holds every user with Open queries by the virtual time of its next turn,
-- open:<model>:<user> that user's topics by age. A claim takes the user with the lowest virtual time and moves it
-- 1/weight further, so 1,000 questions of one user delay another user's single one by at most one turn. A user has one
-- virtual time, in whatever models it asks. A user that arrives or returns starts at the shard's virtual time, so
-- absence earns no credit. Returning at once gains nothing either: until the virtual time has passed the end of its
-- last turn, the user starts there (the zset served, user -> virtual time; deleted when no work is left). A turn
-- collects its changes of `served` and writes them at its end. Lines of batches come after all others
-- (queue/behind.lua): only the scores in turns:<model> have what they are later by.
local behind = require('queue/behind')
local fallback = require('queue/fallback')
local hints = require('queue/hints')
local idle = require('queue/idle')
local shares = require('queue/shares')
local bounds = require('turn/bounds')
local counters = require('turn/counters')
local call = redis.call
local format = string.format
local max = math.max

local USERS_MAX = 1000 -- of a model, in what operators look at
local FRONT = -1 -- a turn before every virtual time: a query that came back is served next

local NONE = {} -- is never written
local FEW = 4   -- models that are no trouble
local DEQUEUE = 8 -- commands for the last query of a model

-- So many commands look something up for each of these models.
local function note_models(turn, models, commands)
    if #models > FEW then bounds.note_read(turn, commands * #models, 0) end
end

-- A turn that knows that nothing is Open looks no further; only the slow rescan does not rely on what was counted.
local function models_with_work(turn)
    local models = turn.models_with_work
    if models then return models end
    local meta = turn.meta or (turn.is_sharded and counters.load(turn)) -- which that needs in any case
    if meta and meta.depth <= 0 and not turn.is_rescan then return NONE end
    models = call('SMEMBERS', turn.prefix .. 'models')
    note_models(turn, models, 1)
    turn.models_with_work = models
    return models
end

-- The end of a user's last turn, as text; false when that is past.
local function ends_of(turn, user)
    return turn.served and turn.served[user] or call('ZSCORE', turn.prefix .. 'served', user)
end

-- A virtual time as turns:<model> has it.
local function score_of(vt, later)
    return format('%.6f', vt + later)
end

-- at_us: text, since when the topic waits.
local function enqueue(turn, model, user, topic, at_us, is_front)
    local P = turn.prefix
    local queue, turns = P .. 'open:' .. model .. ':' .. user, P .. 'turns:' .. model
    -- A topic that has newer Open queries takes the age of what comes back to it.
    call('ZADD', queue, is_front and 'LT' or 'NX', at_us, topic)
    local later = behind.later(user)
    local new_n
    if is_front then
        new_n = call('ZADD', turns, score_of(FRONT, later), user)
    else
        local meta = turn.meta or counters.load(turn)
        new_n = call('ZADD', turns, 'NX', later == 0 and meta.vt_text or score_of(meta.vt, later), user)
        local ends = new_n == 1 and tonumber(ends_of(turn, user) or 0)
        if ends and ends > meta.vt then call('ZADD', turns, score_of(ends, later), user) end
    end
    if new_n == 1 then -- else the model has turns, and is one of those with work
        if call('SADD', P .. 'models', model) == 1 then fallback.begin(turn, model) end
        turn.models_with_work = nil
    end
end

-- Takes a topic out of a user's queue; a user without topics leaves the turns, a model without
-- users the set of models. Returns true when the user has more.
local function dequeue(turn, model, user, topic)
    local P = turn.prefix
    local queue = P .. 'open:' .. model .. ':' .. user
    call('ZREM', queue, topic)
    if call('EXISTS', queue) == 1 then return true end
    local turns = P .. 'turns:' .. model
    bounds.note_read(turn, DEQUEUE, 0)
    call('ZREM', turns, user)
    if call('EXISTS', turns) == 0 then
        call('SREM', P .. 'models', model)
        hints.end_quiet(turn, model)
        fallback.finish(turn, model)
        if model ~= 'default' then shares.forget_model(turn, model) end
        turn.models_with_work = nil
        if counters.load(turn).depth == 0 then
            call('UNLINK', P .. 'served')
            turn.served = nil
        end
    end
    return false
end

-- The topic whose turn it is for an engine that takes `models`; nil when there is no work.
-- Returns topic, model, user, virtual time as turns:<model> has it.
local function next_topic(turn, models)
    local P = turn.prefix
    local best_vt, best_model, best_user
    local models_now = models_with_work(turn)
    turn.scans = turn.scans + #models_now
    note_models(turn, models_now, 1)
    for i = 1, #models_now do
        local model = models_now[i]
        if idle.takes_model(turn, models, model) then
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
local function charge(turn, model, user, vt, weight, has_more)
    local P = turn.prefix
    local m, later = counters.load(turn), behind.later(user)
    local start = max(m.vt, vt - later)
    local ends = format('%.6f', start + 1 / weight)
    local score = later == 0 and ends or score_of(ends, later)
    if start ~= m.vt then
        counters.set_vt(m, start)
        turn.has_vt_moved = true
    end
    if has_more then call('ZADD', P .. 'turns:' .. model, score, user) end
    if m.depth == 0 then return end
    local served = turn.served or {}
    turn.served, served[user] = served, ends
    local models_now = models_with_work(turn)
    note_models(turn, models_now, 2)
    for i = 1, #models_now do
        local turns = P .. 'turns:' .. models_now[i]
        local theirs = models_now[i] ~= model and tonumber(call('ZSCORE', turns, user))
        if theirs and theirs ~= FRONT + later then call('ZADD', turns, 'GT', score, user) end
    end
end

local function flush(turn)
    local key = turn.prefix .. 'served'
    if turn.served then
        local list = {}
        for user, ends in pairs(turn.served) do
            local n = #list
            list[n + 1], list[n + 2] = ends, user
        end
        bounds.in_parts(list, function(...) call('ZADD', key, ...) end)
    end
    if turn.has_vt_moved then call('ZREMRANGEBYSCORE', key, '-inf', turn.meta.vt_text) end
end

return {
    USERS_MAX = USERS_MAX, FRONT = FRONT, models_with_work = models_with_work, enqueue = enqueue, dequeue = dequeue,
    next_topic = next_topic, charge = charge, flush = flush,
}
