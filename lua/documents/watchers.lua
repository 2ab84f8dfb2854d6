-- watchers: the nodes whose clients watch the jobs of a space.
local events = require('turn/events')
local call = redis.call
local format = string.format
local concat = table.concat

local WATCH_S = 60

local function add(turn, space)
    local key = turn.prefix .. 'watchers:' .. space
    call('ZREMRANGEBYSCORE', key, '-inf', turn.now_text)
    call('ZADD', key, format('%d', turn.now_ms + WATCH_S * 1000), turn.node)
    call('EXPIRE', key, WATCH_S)
end

-- Notifies the nodes whose clients watch that space.
local function notify(turn, space, job, doc, what, stage, progress, message)
    local watchers = call('ZRANGEBYSCORE', turn.prefix .. 'watchers:' .. space, '(' .. turn.now_text, '+inf')
    local event = {'indexing', space, job, doc, what, stage, progress, message, turn.now_text}
    for i = 1, #watchers do events.send(turn, watchers[i], concat(event, '\n')) end
end

return {add = add, notify = notify}
