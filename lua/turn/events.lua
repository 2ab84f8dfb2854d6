-- events: what nodes hear of. This node's own are in the reply, another's in one message at the turn's end: by
-- PUBLISH, or of several shards by SPUBLISH, which in a Redis Cluster costs the channel's server alone.
local call, concat = redis.call, table.concat

local function send(turn, to, event)
    local lists = turn.events or {}
    local list = lists[to] or {}
    turn.events, lists[to] = lists, list
    list[#list + 1] = event
end

-- Events travel in one message as <length>:<bytes> each.
local function publish(turn, channel, list)
    local parts = {}
    for i = 1, #list do -- joined once: every string that is made costs a hash of all its bytes
        local n = #parts
        parts[n + 1], parts[n + 2], parts[n + 3] = #list[i], ':', list[i]
    end
    return call(turn.is_sharded and 'SPUBLISH' or 'PUBLISH', turn.prefix .. channel, concat(parts))
end

-- Sends what was collected. This node's own events are put after `replies`.
local function flush(turn, replies)
    if not turn.events then return end
    for to, list in pairs(turn.events) do
        if to == turn.node then
            for i = 1, #list do replies[#replies + 1] = list[i] end
        else
            publish(turn, 'node:' .. to, list)
        end
    end
end

return {send = send, publish = publish, flush = flush}
