-- watching: the nodes whose clients follow a session, the zset wfw:<session> (node -> until when, ms).
local events = require('turn/events')
local call = redis.call
local format = string.format

local WATCH_S = 60

local function add(turn, session)
    local key = turn.prefix .. 'wfw:' .. session
    call('ZREMRANGEBYSCORE', key, '-inf', turn.now_text)
    call('ZADD', key, format('%d', turn.now_ms + WATCH_S * 1000), turn.node)
    call('EXPIRE', key, WATCH_S)
end

-- Sends a frame to those nodes.
local function notify(turn, session, run, seq, frame)
    local nodes = call('ZRANGEBYSCORE', turn.prefix .. 'wfw:' .. session, '(' .. turn.now_text, '+inf')
    local event = {'workflow\n' .. session .. '\n' .. run .. '\n' .. seq .. '\n', frame}
    for i = 1, #nodes do events.send(turn, nodes[i], event) end
end

return {add = add, notify = notify}
