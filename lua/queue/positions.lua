-- positions: estimates how many queries would be served before a given one, if from now on only one engine that takes
-- its model kept claiming. It simulates the claims on a copy of the data that next_topic, claim_topic and charge use:
-- the turns of all users, by weight, in all models of that engine; topics are claimed whole. The simulated engine takes
-- the models of all recently seen engines that take this model, or every model if none was seen or there are too many.
-- With several shards, each knows some of the engines by name, and by its hints all that have waited. It simulates at
-- most SCAN_CLAIMS claims (fewer with many models) and SCAN_QUERIES queries. Beyond that the position is estimated from
-- the virtual times, one query per topic, and is never less than the simulated count.
local behind = require('queue/behind')
local claims = require('queue/claims')
local fair = require('queue/fair')
local hints = require('queue/hints')
local idle = require('queue/idle')
local open_list = require('queue/open_list')
local rate = require('queue/rate')
local bounds = require('turn/bounds')
local counters = require('turn/counters')
local instants = require('turn/instants')
local call = redis.call
local format, match = string.format, string.match
local concat = table.concat
local ceil, floor, max, min = math.ceil, math.floor, math.max, math.min
local CLAIM_MAX = claims.CLAIM_MAX
local FRONT = fair.FRONT

local SCAN_CLAIMS, SCAN_QUERIES = 50, 1000
local SCAN_STEPS = 200  -- of playing, with users who turn out to have no topic left
local SCAN_MODELS = 30  -- the wanted query's own and so many others
local SCAN_LANES = 1500 -- models looked at while playing, counted again in each step
local SCAN_USERS = 100  -- of the estimate, in all models; of the users after them one topic each is counted
local PAGE = 10         -- users, or topics of one, read with one call
local SCAN_OPEN = 262144 -- bytes of topics' `open` fields: what one may hold (TOPIC_OPEN_BYTES)
local SCAN_ENGINES, SEEN_MS = 50, 600000

-- The models of the engine to come, as claims name them.
local function models_of_engine(turn, model)
    local engines, all = turn.prefix .. 'engines', {}
    if call('HLEN', engines) > SCAN_ENGINES then return '*' end
    for _, info in ipairs(call('HVALS', engines)) do
        local at, models = match(info, '^(%d+) {"Models":"([^"]*)"')
        if at and instants.is_near(turn, at, SEEN_MS) and idle.takes_model(turn, models, model) then
            if models == '*' then return '*' end
            all[#all + 1] = models
        end
    end
    for models in pairs(turn.is_sharded and hints.models(turn) or {}) do
        if idle.takes_model(turn, models, model) then
            if models == '*' then return '*' end
            all[#all + 1] = models
        end
    end
    return all[1] and concat(all, ',') or '*'
end

local function models_to_scan(turn, model, engine)
    local found, others, models = {}, 0, fair.models_with_work(turn) -- in the order in which claims look at them
    for i = 1, #models do
        if models[i] == model then
            found[#found + 1] = model
        elseif others < SCAN_MODELS and idle.takes_model(turn, engine, models[i]) then
            others = others + 1
            found[#found + 1] = models[i]
        end
    end
    return found
end

-- A lane is what was read of the turns of one model: `line`, users in Redis's order, from `at` on; `moved`,
-- those whose virtual time has become another one; all by_name. A user: {name, vt, is_moved, is_out} and
-- its topics as far as they were read.
local function read_users(turn, lane, ends)
    local got = call('ZRANGE', turn.prefix .. 'turns:' .. lane.model, lane.read, lane.read + PAGE - 1, 'WITHSCORES')
    for i = 1, #got, 2 do
        local one = {name = got[i], vt = tonumber(got[i + 1]), topics = {}, at = 1, read = 0}
        local line, till = lane.line, ends[one.name]
        -- Charged in another model before it was read.
        if one.vt ~= FRONT + behind.later(one.name) and till and till > one.vt then
            one.vt, one.is_moved, line = till, true, lane.moved
        end
        lane.by_name[one.name] = one
        line[#line + 1] = one
    end
    lane.read = lane.read + PAGE
    lane.is_whole = #got < 2 * PAGE
end

-- Whose turn it is in a lane; nil when it is empty.
local function first_of(turn, lane, ends)
    if lane.first then return lane.first end
    local best = lane.line[lane.at]
    while (best and (best.is_moved or best.is_out)) or (not best and not lane.is_whole) do
        if best then lane.at = lane.at + 1 else read_users(turn, lane, ends) end
        best = lane.line[lane.at]
    end
    local moved = lane.moved
    for i = 1, #moved do
        local one = moved[i]
        if not best or one.vt < best.vt or (one.vt == best.vt and one.name < best.name) then best = one end
    end
    lane.first = best
    return best
end

local function move(lane, one, vt)
    if not one.is_moved then lane.moved[#lane.moved + 1] = one end
    one.vt, one.is_moved, lane.first = vt, true, nil
end

local function take_out(lane, one)
    local moved = lane.moved
    for i = 1, one.is_moved and #moved or 0 do
        if moved[i] == one then
            moved[i] = moved[#moved]
            moved[#moved] = nil
            break
        end
    end
    one.is_out, lane.by_name[one.name], lane.first = true, nil, nil
end

-- The oldest topic of a user in a model that was not played yet; nil when there is none.
local function topic_of(turn, lane, one, is_gone)
    while true do
        local topic = one.topics[one.at]
        if topic then
            one.at = one.at + 1
            if not is_gone[topic] then return topic end
        elseif one.is_whole then
            return nil
        else
            one.topics = call('ZRANGE', turn.prefix .. 'open:' .. lane.model .. ':' .. one.name, one.read,
                              one.read + PAGE - 1)
            one.at, one.read, one.is_whole = 1, one.read + PAGE, #one.topics < PAGE
        end
    end
end

-- Returns what a claim of this topic takes: how many queries, with which weight its payer pays (nil: it has none
-- there), and how many of them are before `seq`. What comes after the first CLAIM_MAX is only counted.
local function measure(turn, open, engine, model, user, seq)
    local at, n, scanned, weight = 1, 0, 0, nil
    local till = seq and open_list.place_after(open, tonumber(seq) - 1, 1) or #open + 1
    while at < till and scanned < CLAIM_MAX do
        local last, _, _, its_model, its_user, _, w = open_list.item_at(open, at)
        if its_model == model and its_user == user then weight = tonumber(w) end
        if engine == '*' or idle.takes_model(turn, engine, its_model) then n = n + 1 end
        at, scanned = last + 1, scanned + 1
    end
    if at < till then n = n + open_list.count(open, till, #open) - scanned end
    return n, weight, seq and n
end

-- As charge does. Returns the virtual time.
local function pay(lanes, lane, one, vt, weight, ends)
    local start = max(vt, one.vt)
    local till = tonumber(format('%.6f', start + 1 / weight))
    ends[one.name] = max(ends[one.name] or 0, till)
    if one.is_whole and not one.topics[one.at] then take_out(lane, one) else move(lane, one, till) end
    local later = behind.later(one.name)
    for i = 1, #lanes do
        local theirs = lanes[i] ~= lane and lanes[i].by_name[one.name]
        if theirs and theirs.vt ~= FRONT + later and theirs.vt < till then move(lanes[i], theirs, till) end
    end
    return start
end

-- Returns how many queries were served before, and whether the wanted one was reached. Notes the weights
-- that it saw.
local function play(turn, engine, models, topic, seq, own_open, weights)
    local lanes, ends, is_gone, vt, before, played, bytes = {}, {}, {}, counters.load(turn).vt, 0, 0, 0
    for i = 1, #models do lanes[i] = {model = models[i], line = {}, at = 1, moved = {}, by_name = {}, read = 0} end
    local steps = min(SCAN_STEPS, floor(SCAN_LANES / max(1, #models)))
    for step = 1, steps do
        local lane, one
        for i = 1, #lanes do
            local first = first_of(turn, lanes[i], ends)
            if first and (not one or first.vt < one.vt) then lane, one = lanes[i], first end
        end
        bounds.note_read(turn, step == 1 and #models or 1, 0)
        if not one or played == SCAN_CLAIMS or before >= SCAN_QUERIES or bytes > SCAN_OPEN then break end
        local served = topic_of(turn, lane, one, is_gone)
        if not served then
            take_out(lane, one)
        else
            local open = served == topic and own_open or call('HGET', turn.prefix .. 't:' .. served, 'open') or ''
            bytes = bytes + #open
            bounds.note_read(turn, 0, #open)
            local n, weight, ahead = measure(turn, open, engine, lane.model, one.name,
                                               served == topic and seq)
            if ahead then return before + ahead, true end
            is_gone[served], before, played = true, before + n, played + 1
            if weight then
                weights[one.name] = weight
                vt = pay(lanes, lane, one, vt, weight, ends)
            end
        end
    end
    return before, false
end

-- Topics before the one at `rank` of its user's queue, by the virtual time at which its turn begins. Weights
-- are those that were seen while playing, else 1.
local function estimate(turn, models, model, user, rank, weight, weights)
    local P = turn.prefix
    local vt = counters.load(turn).vt
    local mine = max(tonumber(call('ZSCORE', P .. 'turns:' .. model, user)) or vt, vt) + rank / weight
    local users_n = max(1, floor(SCAN_USERS / max(1, #models)))
    local has, begins, before = {}, {}, rank
    for i = 1, #models do
        local turns = P .. 'turns:' .. models[i]
        local got = call('ZRANGE', turns, 0, users_n - 1, 'WITHSCORES')
        for k = 1, #got, 2 do
            local name, theirs = got[k], max(tonumber(got[k + 1]), vt)
            bounds.note_read(turn, 1, 0)
            if name ~= user then
                has[name] = (has[name] or 0) + call('ZCARD', P .. 'open:' .. models[i] .. ':' .. name)
                begins[name] = min(begins[name] or theirs, theirs)
            end
        end
        if #got == 2 * users_n then
            local n = rank == 0 and models[i] == model and call('ZRANK', turns, user)
                or call('ZCOUNT', turns, '-inf', mine)
            before = before + max(0, n - users_n)
        end
    end
    for name, n in pairs(has) do
        local turns = (mine - begins[name]) * (weights[name] or 1)
        if turns == floor(turns) and name < user then turns = turns + 1 end
        before = before + min(n, max(0, ceil(turns)))
    end
    return before
end

-- `open` is the topic's field. Returns the position and an estimate of the wait in seconds, as text; ''
-- twice when the query is not Open.
local function position_of(turn, topic, seq, open)
    local at = open_list.place_after(open, tonumber(seq) - 1, 1)
    local _, found, _, model, user, _, weight = open_list.item_at(open, at)
    if found ~= seq then return '', '' end
    local engine, weights = models_of_engine(turn, model), {}
    local models = models_to_scan(turn, model, engine)
    local position, is_reached = play(turn, engine, models, topic, seq, open, weights)
    if not is_reached then
        local rank = call('ZRANK', turn.prefix .. 'open:' .. model .. ':' .. user, topic) or 0
        position = max(position, estimate(turn, models, model, user, rank, tonumber(weight), weights))
            + open_list.count(open, at, #open)
    end
    return rate.of_cluster(turn, position), rate.eta_seconds(turn, position)
end

return {position_of = position_of}
