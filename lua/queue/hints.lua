-- hints: which nodes hold polls of a class, whichever shard has their credits: the zset `hints` ("<node> <class>" ->
-- when its node last said so, ms). A query that finds no credit here calls one of these nodes with `work`: it may
-- claim with a poll that is parked elsewhere. With one shard there are none.
-- Hints outlive the polls that they are of. A node that has no poll left passes the call on, HOPS_MAX times at most;
-- then all engines are taken to be busy, and nobody is called for QUIET_MS or until a poll finds nothing here: engines
-- that answer look for themselves.
local events = require('turn/events')
local idle = require('queue/idle')
local call = redis.call
local find, format, match = string.find, string.format, string.match

local HINTS_MAX = 128   -- looked at, those that were stated last
local HINTS_KEPT = 1000  -- engines choose their lists of models
local FRESH_MS = 3000   -- nodes with parked polls state them each second
local HOPS_MAX, QUIET_MS = 2, 50

local function state(turn, class)
    call('ZADD', turn.prefix .. 'hints', turn.now_text, turn.node .. ' ' .. class)
end

-- A poll has found nothing here: its node may be called.
local function end_quiet(turn)
    if turn.is_sharded then call('DEL', turn.prefix .. 'quiet') end
end

-- Puts `found` behind `nodes`. It begins with any of them, so that all have their turn.
local function put_in_turn(nodes, found, offset)
    for i = 1, #found do nodes[#nodes + 1] = found[(offset + i) % #found + 1] end
end

-- Nodes of hints that take `model` and are none of `tried` (",a,b,"), in turn: first those that have said so lately.
-- One that hangs does not.
local function nodes_for(turn, model, tried)
    local members = call('ZREVRANGE', turn.prefix .. 'hints', 0, HINTS_MAX - 1, 'WITHSCORES')
    local fresh, stale, seen, nodes = {}, {}, {}, {}
    for i = 1, #members, 2 do
        local node, models = match(members[i], '^(%S+) [^|]+|(%S+)$')
        if not seen[node] and idle.takes_model(models, model) and not find(tried, ',' .. node .. ',', 1, true) then
            local list = members[i + 1] + FRESH_MS > turn.now_ms and fresh or stale
            list[#list + 1], seen[node] = node, true
        end
    end
    put_in_turn(nodes, fresh, turn.now_us)
    put_in_turn(nodes, stale, turn.now_us)
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

-- Calls the first of `nodes` that hears it, and forgets those before it. Returns whether one did.
local function call_one(turn, nodes, text)
    local gone, is_heard = {}, false
    for i = 1, #nodes do
        local node = nodes[i]
        if node == turn.node then
            events.send(turn, node, text)
            is_heard = true
        else
            is_heard = events.publish(turn, 'node:' .. node, {text}) > 0
        end
        if is_heard then break end
        gone[node] = true
    end
    if next(gone) then strike_off(turn, gone) end
    return is_heard
end

-- Calls one node that may have a poll for a query of `model`, if one is Open. `tried`: the nodes that had none,
-- ",a,b,"; '' at first.
local function call_for(turn, model, tried, hops)
    if not turn.is_sharded then return end
    local quiet = turn.prefix .. 'quiet'
    if hops == 0 and call('EXISTS', quiet) == 1 then return end
    if call('EXISTS', turn.prefix .. 'turns:' .. model) == 0 then return end
    local text = 'work\n' .. model .. '\n' .. format('%d', hops) .. '\n' .. tried
    local nodes = hops <= HOPS_MAX and nodes_for(turn, model, tried) or {}
    while #nodes > 0 do
        if call_one(turn, nodes, text) then return end
        nodes = nodes_for(turn, model, tried) -- all of them were gone: those after HINTS_MAX
    end
    call('SET', quiet, '1', 'PX', QUIET_MS)
end

return {
    state = state, models = models, end_quiet = end_quiet, call_for = call_for, strike_off = strike_off,
    forget_oldest = forget_oldest,
}
