-- fallback: serves queries for a model without an engine as `default`, by any engine. The model falls back, not each of
-- its queries: they stay in place (queue/fair.lua), and the zset `falls` determines which engines take them: models
-- with Open queries (except `default`) -> when they fall back (ms). 0: it has fallen back. A model falls back
-- `fallback_ms` after it began to wait, or after an engine that names it was last seen, whichever is later; immediately
-- if none was seen for a day. The hash `models_seen` records that: model -> "<ms> <account> <lease>". While that lease
-- (the latest claim of such an engine, '' if unknown) exists, the engine is working and counts as seen. `*` stands for
-- engines that name no models: they take all of them, so nothing falls back while one is present. Models of the doors
-- (queue/apis.lua) never fall back; they are noted here as well, even if nothing falls back, because clients list
-- them.
local apis = require('queue/apis')
local newest = require('queue/newest')
local call = redis.call
local format, gmatch, match = string.format, string.gmatch, string.match
local sort = table.sort
local min = math.min

local SEEN_MS = 86400000
local AT_ONCE = 1000        -- models that are written down with one command
local MODELS_OF_CLASS = 100 -- that a sync notes
local FALL_MAX = 100       -- models that fall with one call

local function fallen_models(turn)
    local fallen = turn.fallen
    if fallen then return fallen end
    fallen = {}
    if turn.settings.fallback_ms > 0 then
        for _, model in ipairs(call('ZRANGE', turn.prefix .. 'falls', 0, 0, 'BYSCORE')) do fallen[model] = true end
    end
    turn.fallen = fallen
    return fallen
end

local function has_fallen(turn, model)
    return fallen_models(turn)[model]
end

local function has_any_fallen(turn)
    return next(fallen_models(turn)) ~= nil
end

-- When an engine for that model was last known to be there (ms); nil when none is known.
local function seen_at(turn, model)
    local P = turn.prefix
    local at, lease = match(call('HGET', P .. 'models_seen', model) or '', '^(%d+) %S+ (%d*)$')
    if lease and lease ~= '' and call('EXISTS', P .. 'lease:' .. lease) == 1 then return turn.now_ms end
    at = tonumber(at)
    return at and at <= turn.now_ms + turn.settings.fallback_ms and at or nil -- else the clock went back
end

-- Until when a model does not fall because an engine for it is there; nil when none is.
local function kept_until(turn, model)
    local at = seen_at(turn, model)
    return at and at + turn.settings.fallback_ms > turn.now_ms and at + turn.settings.fallback_ms or nil
end

-- Until when nothing falls, whatever its model; nil when it may now.
local function held_until(turn)
    return kept_until(turn, '*')
end

local function set_fall(turn, model, at)
    call('ZADD', turn.prefix .. 'falls', format('%d', at), model)
    if turn.fallen then turn.fallen[model] = at == 0 or nil end
end

-- A model has Open queries now.
local function begin(turn, model)
    if model == 'default' or turn.settings.fallback_ms == 0 or apis.is_of_api(model) then return end
    local seen = seen_at(turn, model)
    if seen and seen > turn.now_ms - SEEN_MS then
        set_fall(turn, model, turn.now_ms + turn.settings.fallback_ms)
    else
        set_fall(turn, model, held_until(turn) or 0)
    end
end

-- It has none any more.
local function finish(turn, model)
    if model == 'default' then return end
    call('ZREM', turn.prefix .. 'falls', model)
    if turn.fallen then turn.fallen[model] = nil end
end

-- Lets the models fall that are due. Returns them.
local function fall_due(turn)
    local falls, P = {}, turn.prefix
    if turn.settings.fallback_ms == 0 then return falls end
    local due = call('ZRANGE', P .. 'falls', '(0', turn.now_text, 'BYSCORE', 'LIMIT', 0, FALL_MAX)
    if #due == 0 then return falls end
    -- With no engine seen at all there is nobody who would take them: a cluster that has just been restored waits for
    -- those to come back that name them.
    local till = call('EXISTS', P .. 'models_seen') == 0 and turn.now_ms + turn.settings.fallback_ms or held_until(turn)
    for i = 1, #due do
        local at = till or kept_until(turn, due[i]) or 0
        set_fall(turn, due[i], at)
        if at == 0 then falls[#falls + 1] = due[i] end
    end
    return falls
end

-- The sooner one of `other` (text, a time in ms; nil: none) and the next time at which a model falls.
local function sooner(turn, other)
    if turn.settings.fallback_ms == 0 then return other end
    local first = call('ZRANGE', turn.prefix .. 'falls', '(0', '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2]
    if not first or (other and tonumber(other) < tonumber(first)) then return other end
    return first
end

-- Notes the models of a class ("<account>|<models>") in `seen`, which note_seen writes down.
local function note_class(turn, seen, class, lease)
    local account, models = match(class, '^([^|]+)|(%S+)$')
    local n = 0
    for model in gmatch(models or '', '[^,]+') do
        n = n + 1
        if n > MODELS_OF_CLASS then break end
        if not seen[model] or lease ~= '' then seen[model] = {account = account, lease = lease} end
    end
end

local function account_of(_, seen) return match(seen, '^%d+ (%S+)') end

-- Engines for these models are there: those that wait for one wait on, and what had fallen is its engine's again.
local function note_seen(turn, seen)
    local P, names, new_n = turn.prefix, {}, 0
    for model in pairs(seen) do
        if turn.settings.fallback_ms > 0 or apis.is_of_api(model) then names[#names + 1] = model end
    end
    if #names == 0 then return end
    sort(names)
    local due = format('%d', turn.now_ms + turn.settings.fallback_ms)
    for from = 1, #names, AT_ONCE do
        local part = {unpack(names, from, min(from + AT_ONCE - 1, #names))}
        local had = call('HMGET', P .. 'models_seen', unpack(part))
        local pairs_of, waiting = {}, {}
        for i = 1, #part do
            local one = seen[part[i]]
            local lease = one.lease ~= '' and one.lease or match(had[i] or '', '^%d+ %S+ (%d*)$') or ''
            pairs_of[2 * i - 1], pairs_of[2 * i] = part[i], turn.now_text .. ' ' .. one.account .. ' ' .. lease
            waiting[2 * i - 1], waiting[2 * i] = due, part[i]
        end
        new_n = new_n + call('HSET', P .. 'models_seen', unpack(pairs_of))
        call('ZADD', P .. 'falls', 'XX', 'GT', unpack(waiting))
    end
    turn.fallen = nil
    if new_n > 0 then newest.keep(turn, 'models_seen', account_of) end
end

-- A restore, and nodes where nothing falls, leave `falls` alone: these are the models that began or ceased to wait
-- because of them.
local function repair(turn)
    local P = turn.prefix
    local models, falls = P .. 'models', P .. 'falls'
    if turn.settings.fallback_ms == 0 then return end
    if call('SCARD', models) - call('SISMEMBER', models, 'default') == call('ZCARD', falls) then return end
    local waits, is_known = {}, {}
    for _, model in ipairs(call('SMEMBERS', models)) do waits[model] = true end
    for _, model in ipairs(call('ZRANGE', falls, 0, -1)) do
        is_known[model] = true
        if not waits[model] then finish(turn, model) end
    end
    for model in pairs(waits) do
        if not is_known[model] and model ~= 'default' and not apis.is_of_api(model) then
            set_fall(turn, model, turn.now_ms + turn.settings.fallback_ms)
        end
    end
end

return {
    has_fallen = has_fallen, has_any_fallen = has_any_fallen, begin = begin, finish = finish, fall_due = fall_due,
    sooner = sooner, seen_at = seen_at, note_class = note_class, note_seen = note_seen, repair = repair,
}
