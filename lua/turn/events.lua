-- events: notifications to nodes. This node's own events are in the reply, another node's in one message at the end of
-- the turn: by PUBLISH, or with several shards by SPUBLISH, which in a Redis Cluster costs only the channel's server.
-- An event is a text, or its parts (turn/parts.lua).
local parts = require('turn/parts')
local call, concat = redis.call, table.concat

local function send(turn, to, event)
    local lists = turn.events or {}
    local list = lists[to]
    turn.events = lists
    if list then
        list[#list + 1] = event
    else
        lists[to] = {event}
    end
end

-- Events travel in one message as <length>:<bytes> each.
local function publish(turn, channel, list)
    local message = {}
    for i = 1, #list do
        message[#message + 1] = parts.bytes_of(list[i])
        message[#message + 1] = ':'
        parts.put(message, list[i])
    end
    return call(turn.is_sharded and 'SPUBLISH' or 'PUBLISH', turn.prefix .. channel, concat(message))
end

-- Sends what was collected. This node's own events are put after `replies`.
local function flush(turn, replies)
    if not turn.events then return end
    for to, list in pairs(turn.events) do
        if to == turn.node then
            for i = 1, #list do parts.put_reply(replies, list[i]) end
        else
            publish(turn, 'node:' .. to, list)
        end
    end
end

return {send = send, publish = publish, flush = flush}
