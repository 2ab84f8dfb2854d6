-- rooms: the hash room:<room> on the room's shard, the nodes whose clients follow it, the zset room_watch:<room>
-- (node -> until when, ms), and the rooms in which a user has a part, the zset rooms_of:<user> (room -> since, ms). The
-- set room_members:<room> says where else the room is known: `u.<user>`, in that user's list, and `b.<bot>`, which has
-- the list room_talk:<room>:<bot>. A room belongs to a namespace; to all others it does not exist. The hash rooms_n
-- counts the rooms of an account on this shard. A room without messages is in rooms_empty (room -> since when, ms), and
-- goes after EMPTY_MS. One that is being deleted belongs to no namespace any more, and is in rooms_going until its last
-- message is gone.
local events = require('turn/events')
local hashes = require('turn/hashes')
local share = require('turn/share')
local call = redis.call
local format = string.format

local WATCH_S = 60
local NOBODY = '%' -- the creator of a room, once that user was deleted
local EMPTY_MS, WATCHED_MS = 7 * 86400000, 86400000

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

-- The user has a part in the room, as its creator or with a message, from then on.
local function join(turn, user, room, since)
    local P = turn.prefix
    if call('ZADD', P .. 'rooms_of:' .. user, 'NX', since, room) == 0 then return end
    call('SADD', P .. 'room_members:' .. room, 'u.' .. user)
end

-- The same out of a backup, in which messages may come before what is older.
local function join_again(turn, user, room, since)
    call('ZADD', turn.prefix .. 'rooms_of:' .. user, 'LT', since, room)
    call('SADD', turn.prefix .. 'room_members:' .. room, 'u.' .. user)
end

-- The bot has a list of what it was given there.
local function join_bot(turn, bot, room)
    call('SADD', turn.prefix .. 'room_members:' .. room, 'b.' .. bot)
end

local function part(turn, user, room)
    call('ZREM', turn.prefix .. 'rooms_of:' .. user, room)
    call('SREM', turn.prefix .. 'room_members:' .. room, 'u.' .. user)
end

local function watch(turn, room)
    local key = turn.prefix .. 'room_watch:' .. room
    call('ZREMRANGEBYSCORE', key, '-inf', turn.now_text)
    call('ZADD', key, format('%d', turn.now_ms + WATCH_S * 1000), turn.node)
    call('EXPIRE', key, WATCH_S)
end

local function send(turn, room, text)
    local nodes = call('ZRANGEBYSCORE', turn.prefix .. 'room_watch:' .. room, '(' .. turn.now_text, '+inf')
    for i = 1, #nodes do events.send(turn, nodes[i], 'room\n' .. room .. '\n' .. text) end
end

-- Sends a message to those nodes. before: the id of the message before it, '' for the first.
local function notify(turn, room, before, lines)
    send(turn, room, before .. '\n' .. lines)
end

local function count(turn, account, delta)
    if account ~= NOBODY then share.count(turn.prefix .. 'rooms_n', account, delta) end
end

-- The room has no messages since then.
local function note_empty(turn, room, ms)
    call('ZADD', turn.prefix .. 'rooms_empty', ms, room)
end

-- The room goes: nobody finds it any more, and nodes whose clients follow it are notified. Its messages are still there
-- (bots/room_removal.lua), and so are entries in the lists of its members.
local function retire(turn, room)
    local P, key = turn.prefix, key_of(turn, room)
    local r = hashes.fields(key, 'namespace', 'account', 'user')
    send(turn, room, 'gone')
    call('ZREM', P .. 'rooms:' .. r.namespace, room)
    part(turn, r.user, room)
    count(turn, r.account, -1)
    if call('ZREM', P .. 'rooms_empty', room) == 1 and call('EXISTS', P .. 'room_members:' .. room) == 0 then
        call('UNLINK', key, P .. 'room_messages:' .. room, P .. 'room_watch:' .. room)
    else
        call('HDEL', key, 'namespace')
        call('HSET', key, 'account', NOBODY, 'user', NOBODY)
        call('ZADD', P .. 'rooms_going', turn.now_text, room)
    end
end

-- The user has no part in the room any more. One that it has created, or whose creator was deleted, goes if it has no
-- messages; otherwise it stays, and nobody has created it.
local function leave(turn, user, room)
    local P, key = turn.prefix, key_of(turn, room)
    part(turn, user, room)
    local r = hashes.fields(key, 'namespace', 'account', 'user')
    if not r.namespace or (r.user ~= user and r.user ~= NOBODY) then return end
    if call('ZSCORE', P .. 'rooms_empty', room) then
        retire(turn, room)
    elseif r.user == user then
        count(turn, r.account, -1)
        call('HSET', key, 'account', NOBODY, 'user', NOBODY)
    end
end

-- Rooms that have had no messages for EMPTY_MS go, `most` at once; one that somebody follows stays a day longer.
local function age(turn, most)
    local P = turn.prefix
    local before = format('%d', turn.now_ms - EMPTY_MS)
    local old = call('ZRANGEBYSCORE', P .. 'rooms_empty', '-inf', before, 'LIMIT', 0, most)
    for i = 1, #old do
        if call('EXISTS', P .. 'room_watch:' .. old[i]) == 1 then
            note_empty(turn, old[i], format('%d', turn.now_ms - EMPTY_MS + WATCHED_MS))
        else
            retire(turn, old[i])
        end
    end
end

return {
    NOBODY = NOBODY, EMPTY_MS = EMPTY_MS,
    key_of = key_of, read = read, load_any = load_any, join = join, join_again = join_again, join_bot = join_bot,
    leave = leave, watch = watch, notify = notify,
    count = count, note_empty = note_empty, retire = retire, age = age,
}
