-- rooms: the hash room:<room> on the room's shard, the nodes whose clients follow it, the zset room_watch:<room>
-- (node -> until when, ms), and the rooms in which a user has a part, the zset rooms_of:<user> (room -> since, ms). A
-- room belongs to a namespace; to all others it does not exist.
local events = require('turn/events')
local hashes = require('turn/hashes')
local call = redis.call
local format = string.format

local WATCH_S = 60
local NOBODY = '%' -- the creator of a room, once that user was deleted

local function key_of(turn, room)
    return turn.prefix .. 'room:' .. room
end

-- A room of that namespace with some fields, or nil.
local function read(turn, room, namespace, ...)
    local r = hashes.fields(key_of(turn, room), 'namespace', 'last', ...)
    if r.namespace ~= namespace then return nil end
    r.key = key_of(turn, room)
    return r
end

-- A room whichever namespace it belongs to, as messages.add takes it, or nil.
local function load_any(turn, room)
    local r = hashes.fields(key_of(turn, room), 'namespace', 'last', 'n', 'bytes')
    if not r.namespace then return nil end
    r.key = key_of(turn, room)
    return r
end

-- The user has a part in the room, as its creator or with a message.
local function join(turn, user, room)
    call('ZADD', turn.prefix .. 'rooms_of:' .. user, 'NX', turn.now_text, room)
end

-- The user has no part in the room any more. The room stays, and nobody has created it.
local function leave(turn, user, room)
    call('ZREM', turn.prefix .. 'rooms_of:' .. user, room)
    local key = key_of(turn, room)
    if call('HGET', key, 'user') == user then call('HSET', key, 'account', NOBODY, 'user', NOBODY) end
end

local function watch(turn, room)
    local key = turn.prefix .. 'room_watch:' .. room
    call('ZREMRANGEBYSCORE', key, '-inf', turn.now_text)
    call('ZADD', key, format('%d', turn.now_ms + WATCH_S * 1000), turn.node)
    call('EXPIRE', key, WATCH_S)
end

-- Sends a message to those nodes. before: the id of the message before it, '' for the first.
local function notify(turn, room, before, lines)
    local nodes = call('ZRANGEBYSCORE', turn.prefix .. 'room_watch:' .. room, '(' .. turn.now_text, '+inf')
    local event = 'room\n' .. room .. '\n' .. before .. '\n' .. lines
    for i = 1, #nodes do events.send(turn, nodes[i], event) end
end

return {
    NOBODY = NOBODY,
    key_of = key_of, read = read, load_any = load_any, join = join, leave = leave, watch = watch, notify = notify,
}
