-- hints: the nodes that hold polls of a class, whichever shard has their credits: the zset `hints` ("<node> <class>" ->
-- when its node last said so, ms). A query that finds no credit here notifies one of these nodes with `work`, which can
-- claim with a poll that is parked elsewhere. With one shard there are no hints. Hints outlive their polls. A node
-- without a poll passes the notification on, at most HOPS_MAX times; then all engines for that model are assumed to be
-- busy, and no node is notified for QUIET_MS or until no query for it is left: engines that answer look for work
-- themselves, so the queries that wait are theirs.
local fallback = require('queue/fallback')
local bounds = require('turn/bounds')
local events = require('turn/events')
local idle = require('queue/idle')
local pace = require('queue/pace')
local call = redis.call
local find, format, match = string.find, string.format, string.match
local max, min = math.max, math.min

local HINTS_MAX = 128   -- looked at at once, those first that were stated last
local HINTS_KEPT = 1000  -- engines choose their lists of models
local FRESH_MS = 3000   -- nodes with parked polls state them with each sync; of many nodes later (queue/pace.lua)
local HOPS_MAX, QUIET_MS = 2, 50

local function state(turn, class)
    call('ZADD', turn.prefix .. 'hints', turn.now_text, turn.node .. ' ' .. class)
end

-- Comes after idle.flush: states the classes whose first polls this turn has parked. While a node holds polls of a
-- class, its syncs state it.
local function flush(turn)
    local entries = turn.is_sharded and turn[idle.QUERIES]
    if not entries then return end
    for i = 1, #entries do
        local entry = entries[i]
        if entry.stored == 0 and entry.credits > 0 and entry.node == turn.node then state(turn, entry.class) end
    end
end

-- Returns the model that nodes are asked for: they compare it with what their polls name, and a model that has fallen
-- is for all.
local function asked_for(turn, model)
    return model ~= 'default' and fallback.has_fallen(turn, model) and 'default' or model
end

-- No query for that model is left: the next one to wait may have a poll elsewhere again.
local function end_quiet(turn, model)
    if turn.is_sharded then call('DEL', turn.prefix .. 'quiet:' .. asked_for(turn, model)) end
end

-- Puts `found` after `nodes`. It begins with any of them, so that all have their turn.
local function put_in_turn(nodes, found, offset)
    for i = 1, #found do nodes[#nodes + 1] = found[(offset + i) % #found + 1] end
end

-- Nodes of HINTS_MAX hints, from that place on, that take `model` and are neither of `tried` (",a,b,") nor of `gone`,
-- in turn: first those that have said recently that they have a poll that names it, then the others that have said
-- something recently. One that hangs does not. nil after the last hint.
local function nodes_at(turn, from, model, tried, gone)
    local members = call('ZREVRANGE', turn.prefix .. 'hints', from, from + HINTS_MAX - 1, 'WITHSCORES')
    if #members == 0 then return nil end
    bounds.note_read(turn, #members / 5, 0)
    local found, rank_of, ranks, nodes = {}, {}, {{}, {}, {}}, {}
    local fresh_ms = max(FRESH_MS, 3 * pace.least_ms(turn))
    for i = 1, #members, 2 do
        local node, models = match(members[i], '^(%S+) [^|]+|(%S+)$')
        local is_out = gone[node] or find(tried, ',' .. node .. ',', 1, true)
        if not is_out and idle.takes_model(turn, models, model) then
            local is_fresh = members[i + 1] + fresh_ms > turn.now_ms
            local rank = not is_fresh and 3 or idle.is_listed(models, model) and 1 or 2
            if not rank_of[node] then found[#found + 1] = node end
            rank_of[node] = min(rank, rank_of[node] or rank)
        end
    end
    for _, node in ipairs(found) do
        local list = ranks[rank_of[node]]
        list[#list + 1] = node
    end
    for _, list in ipairs(ranks) do put_in_turn(nodes, list, turn.now_us) end
    return nodes
end

-- The lists of models of the engines that nodes have, or had, polls of; as a set.
local function models(turn)
    local found, members = {}, call('ZREVRANGE', turn.prefix .. 'hints', 0, HINTS_MAX - 1)
    for i = 1, #members do found[match(members[i], '^%S+ [^|]+|(%S+)$')] = true end
    return found
end

-- Forgets the hints of these nodes (node -> true).
local function strike_off(turn, gone)
    local key = turn.prefix .. 'hints'
    local members = call('ZRANGE', key, 0, -1)
    for i = 1, #members do
        if gone[match(members[i], '^%S+')] then call('ZREM', key, members[i]) end
    end
end

local function forget_oldest(turn)
    call('ZREMRANGEBYRANK', turn.prefix .. 'hints', 0, -1 - HINTS_KEPT)
end

-- Calls the first of `nodes` that hears it, and puts those before it into `gone`. Returns whether one did.
local function call_one(turn, nodes, text, gone)
    for i = 1, #nodes do
        local node = nodes[i]
        if node == turn.node then
            events.send(turn, node, text)
            return true
        end
        if events.publish(turn, 'node:' .. node, {text}) > 0 then return true end
        gone[node] = true
        bounds.note_read(turn, 2, 0)
    end
    return false
end

-- Is a query for that model Open? Nodes are called to those of one that has fallen as for `default`, and pass that on.
local function is_open(turn, model)
    if call('EXISTS', turn.prefix .. 'turns:' .. model) == 1 then return true end
    return model == 'default' and fallback.has_any_fallen(turn)
end

-- Calls one node that may have a poll for a query of `model`, if one is Open. `tried`: the nodes that had none,
-- ",a,b,"; '' at first.
local function call_for(turn, model, tried, hops)
    if not turn.is_sharded then return end
    local asked = asked_for(turn, model)
    local quiet = turn.prefix .. 'quiet:' .. asked
    if hops == 0 and call('EXISTS', quiet) == 1 then return end
    if not is_open(turn, model) then return end
    local text = 'work\n' .. asked .. '\n' .. format('%d', hops) .. '\n' .. tried
    local gone, from, is_heard = {}, 0, false
    while hops <= HOPS_MAX and not is_heard do
        local nodes = nodes_at(turn, from, model, tried, gone)
        if not nodes then break end
        is_heard, from = call_one(turn, nodes, text, gone), from + HINTS_MAX
    end
    if next(gone) then strike_off(turn, gone) end
    if not is_heard then call('SET', quiet, '1', 'PX', QUIET_MS) end
end

-- Calls up to `most` nodes that have stated polls for `model` to sync now. Returns how many heard it.
local function call_to_sync(turn, model, most)
    if most == 0 or not turn.is_sharded or not is_open(turn, model) then return 0 end
    local gone, called_n = {}, 0
    local nodes = nodes_at(turn, 0, asked_for(turn, model), ',' .. turn.node .. ',', gone) or {}
    for i = 1, #nodes do
        if called_n == most then break end
        if events.publish(turn, 'node:' .. nodes[i], {'rescan'}) > 0 then
            called_n = called_n + 1
        else
            gone[nodes[i]] = true
        end
        bounds.note_read(turn, 2, 0)
    end
    if next(gone) then strike_off(turn, gone) end
    return called_n
end

return {
    state = state, flush = flush, models = models, end_quiet = end_quiet, call_for = call_for,
    call_to_sync = call_to_sync, strike_off = strike_off, forget_oldest = forget_oldest,
}
