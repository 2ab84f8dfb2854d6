-- hints: which nodes hold polls of a class, whichever shard has their credits: the zset `hints` ("<node> <class>" ->
-- when its node last said so, ms). A query that finds no credit here calls one of these nodes with `work`: it may claim
-- with a poll that is parked elsewhere. With one shard there are none.
-- Hints outlive the polls that they are of. A node that has no poll left passes the call on, HOPS_MAX times at most;
-- then all engines are taken to be busy for QUIET_MS, and nobody is called: whoever answers next looks for itself.
local fallback = require('queue/fallback')
local idle = require('queue/idle')
local events = require('turn/events')
local call = redis.call
local find, format, match, sub = string.find, string.format, string.match, string.sub

local HINTS_MAX = 128 -- looked at, those that were stated last
local HOPS_MAX, QUIET_MS = 2, 250

local function state(turn, class)
    call('ZADD', turn.prefix .. 'hints', turn.now_text, turn.node .. ' ' .. class)
end

-- Nodes of hints that take `model` and are none of `tried` (",a,b,"), in turn.
local function nodes_for(turn, model, tried)
    local members, nodes, seen = call('ZREVRANGE', turn.prefix .. 'hints', 0, HINTS_MAX - 1), {}, {}
    for i = 1, #members do
        local node, models = match(members[i], '^(%S+) [^|]+|(%S+)$')
        local is_untried = not seen[node] and not find(tried, ',' .. node .. ',', 1, true)
        if is_untried and idle.takes_model(turn, models, model) then
            nodes[#nodes + 1], seen[node] = node, true
        end
    end
    return nodes
end

local function strike_off(turn, node)
    local key = turn.prefix .. 'hints'
    local members = call('ZRANGE', key, 0, -1)
    for i = 1, #members do
        if sub(members[i], 1, #node + 1) == node .. ' ' then call('ZREM', key, members[i]) end
    end
end

-- Calls one node that may have a poll for a query of `model`. `tried`: the nodes that had none, ",a,b,"; '' at first.
local function call_for(turn, model, tried, hops)
    if not turn.is_sharded then return end
    local quiet = turn.prefix .. 'quiet'
    if hops == 0 and call('EXISTS', quiet) == 1 then return end
    local nodes = hops <= HOPS_MAX and nodes_for(turn, model, tried) or {}
    local first = #nodes > 0 and turn.now_us % #nodes or 0
    -- The node compares with what its polls name.
    local asked = fallback.has_fallen(turn, model) and 'default' or model
    local text = 'work\n' .. asked .. '\n' .. format('%d', hops) .. '\n' .. tried
    for i = 1, #nodes do
        local node = nodes[(first + i) % #nodes + 1]
        if node == turn.node then
            events.send(turn, node, text)
            return
        end
        if events.publish(turn, 'node:' .. node, {text}) > 0 then return end
        strike_off(turn, node)
    end
    call('SET', quiet, '1', 'PX', QUIET_MS)
end

return {state = state, call_for = call_for, strike_off = strike_off}
