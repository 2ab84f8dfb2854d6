-- messages: the messages of a room, the stream room_messages:<room>, an entry each; its id is the message's. A chain of
-- replies is one conversation: each message holds the first one's id as `root`. The hash messages_of counts those of
-- each user.
local deliveries = require('bots/deliveries')
local names = require('bots/names')
local rooms = require('bots/rooms')
local stored = require('queue/stored')
local bounds = require('turn/bounds')
local call = redis.call
local format, match = string.format, string.match
local concat = table.concat
local floor, max, min = math.floor, math.max, math.min

local MESSAGES_MAX, BYTES_MAX = 100000, 67108864 -- of a room
local TRIM = 1500                                -- with one message, at most: more than fit into the longest one
local REMOVAL, DELIVERY = 4, 10                  -- commands for a message that is removed, and for a delivery
local AT_ONCE = 16                               -- messages
local SCAN_BYTES = 16384                         -- that are looked at as one message
local HOPS_MAX = 4                               -- a message of that hop calls no bot
local CALLS_OF_BOT = 3                           -- bots that a bot's message calls: no more of those that it mentions
local OVERHEAD = 300                             -- of an entry, besides its texts

local function key_of(turn, room)
    return turn.prefix .. 'room_messages:' .. room
end

local function by_name(fields)
    local m = {}
    for i = 1, #fields, 2 do m[fields[i]] = fields[i + 1] end
    return m
end

-- Entries that were read; the last field of each is its bytes.
local function note_found(turn, found)
    local bytes = 0
    for i = 1, #found do bytes = bytes + found[i][2][#found[i][2]] end
    bounds.note_read(turn, 1 + #found, bytes)
end

-- A message by its id, or nil.
local function read(turn, room, id)
    if id == '' then return nil end
    local found = call('XRANGE', key_of(turn, room), id, id)
    if #found == 0 then return nil end
    note_found(turn, found)
    local m = by_name(found[1][2])
    m.id = id
    return m
end

-- Is the message with that id older than the one with the other?
local function is_before(id, other)
    local ms, n = match(id, '^(%d+)%-(%d+)$')
    local other_ms, other_n = match(other, '^(%d+)%-(%d+)$')
    ms, n, other_ms, other_n = tonumber(ms), tonumber(n), tonumber(other_ms), tonumber(other_n)
    return ms < other_ms or (ms == other_ms and n < other_n)
end

-- Calls visit(m) for the messages after an id ('': from the oldest on), or before it with is_back ('': from the newest
-- on), until it returns false. most: bytes that the caller needs. As many are read at once as fit into that if they are
-- as long as those before them, AT_ONCE at most, so that little more is read than is needed. Returns whether that were
-- all.
local function walk(turn, room, id, is_back, most, visit)
    local key, bytes, got, n = key_of(turn, room), 0, 0, 1
    local from = id == '' and (is_back and '+' or '-') or '(' .. id
    repeat
        local found = is_back and call('XREVRANGE', key, from, '-', 'COUNT', n)
            or call('XRANGE', key, from, '+', 'COUNT', n)
        note_found(turn, found)
        for i = 1, #found do
            local m = by_name(found[i][2])
            m.id = found[i][1]
            if not visit(m) then return false end
            bytes, got, from = bytes + m.bytes, got + 1, '(' .. m.id
        end
        local is_end = #found < n
        n = max(1, min(AT_ONCE, 2 * n, floor((most - bytes) * got / max(1, bytes))))
    until is_end
    return true
end

-- The n messages before one, newest first, as many as fit into `most` bytes.
local function before(turn, room, id, n, most)
    local list, bytes = {}, 0
    walk(turn, room, id, true, most, function(m)
        bytes = bytes + m.bytes
        if bytes > most then return false end
        list[#list + 1] = m
        return #list < n
    end)
    return list
end

-- The 7 lines of a message: id/kind/from (JSON)/text (JSON)/tagged (JSON list)/reply_to or ''/hop.
local function lines(m)
    return concat({m.id, m.kind, m.from, m.text, m.tagged, m.reply_to, m.hop}, '\n')
end

-- Puts a page of messages after an id ('': from the oldest on): n at most, and as many as fit into `most` bytes, but
-- one at least. Returns whether there are more.
local function page(turn, parts, room, after, n, most)
    local bytes, got = 0, 0
    return not walk(turn, room, after, false, most, function(m)
        if got == n or (got > 0 and bytes + m.bytes > most) then return false end
        parts[#parts + 1] = '\n'
        parts[#parts + 1] = lines(m)
        bytes, got = bytes + m.bytes, got + 1
        return true
    end)
end

local function count_of(turn, m, delta)
    if m.kind ~= 'u' then return end
    local key = turn.prefix .. 'messages_of'
    if call('HINCRBY', key, m.name, delta) > 0 then return end
    call('HDEL', key, m.name)
    names.leave(turn, m.name)
end

-- Gives back what a removed message counted.
local function release(turn, m)
    count_of(turn, m, -1)
    if m.whose ~= '' then stored.count(turn, match(m.whose, '^%S+'), m.whose, -stored.whole(tonumber(m.bytes))) end
end

-- Removes the oldest of a room's `n` messages if it is over its limits. Returns the bytes that it has left.
local function trim(turn, room, n, bytes)
    local key = key_of(turn, room)
    if n <= MESSAGES_MAX and bytes <= BYTES_MAX then return bytes end
    local ids = {}
    walk(turn, room, '', false, bytes - BYTES_MAX, function(m)
        if #ids == TRIM or n == 1 or (n <= MESSAGES_MAX and bytes <= BYTES_MAX) then return false end
        release(turn, m)
        ids[#ids + 1], n, bytes = m.id, n - 1, bytes - m.bytes
        return true
    end)
    bounds.note_read(turn, REMOVAL * #ids, 0)
    if #ids > 0 then call('XDEL', key, unpack(ids)) end
    return bytes
end

-- Calls visit(m) for the messages of a user in a room after an id ('': from the oldest on), until it returns false.
-- Looks at `most` messages, where one longer than SCAN_BYTES counts as several. Returns the id to continue
-- after ('': that was all), and how many were looked at.
local function walk_of(turn, room, user, after, most, visit)
    local scanned = 0
    local is_all = walk(turn, room, after, false, most * SCAN_BYTES, function(m)
        if scanned >= most or (m.name == user and m.kind == 'u' and not visit(m)) then return false end
        after, scanned = m.id, scanned + 1 + floor(m.bytes / SCAN_BYTES)
        return true
    end)
    if is_all then return '', scanned end
    return after == '' and '0-0' or after, scanned
end

-- Removes the messages of a user from a room, as walk_of goes through them. Returns how many are gone, how many were
-- looked at, and the id to continue after. Calls visit(m) for each.
local function remove_of(turn, room, user, from, most, visit)
    local ids, bytes = {}, 0
    local after, scanned = walk_of(turn, room, user, from, most, function(m)
        visit(m)
        release(turn, m)
        ids[#ids + 1], bytes = m.id, bytes + m.bytes
        return true
    end)
    if #ids > 0 then
        call('XDEL', key_of(turn, room), unpack(ids))
        call('HINCRBY', rooms.key_of(turn, room), 'bytes', -bytes)
        if call('XLEN', key_of(turn, room)) == 0 then rooms.note_empty(turn, room, turn.now_text) end
    end
    return #ids, scanned, after
end

-- Removes the oldest messages of a room and calls visit(m) for each. Looks at `most` of them, as walk_of does. Returns
-- whether that were all.
local function remove_oldest(turn, room, most, visit)
    local ids, scanned = {}, 0
    local is_all = walk(turn, room, '', false, most * SCAN_BYTES, function(m)
        if scanned >= most then return false end
        visit(m)
        release(turn, m)
        ids[#ids + 1], scanned = m.id, scanned + 1 + floor(m.bytes / SCAN_BYTES)
        return true
    end)
    if #ids > 0 then call('XDEL', key_of(turn, room), unpack(ids)) end
    return is_all
end

-- The id after the room's newest one, which a clock that was set back must not change.
local function next_id(turn, last)
    local ms, n = match(last or '', '^(%d+)%-(%d+)$')
    if not ms or turn.now_ms > tonumber(ms) then return turn.now_text .. '-0' end
    return ms .. '-' .. format('%d', n + 1)
end

local function bytes_of(m)
    return #m.text + #m.from + #m.tagged + #m.tags + OVERHEAD
end

-- Stores a message m of a room r (rooms.read with n and bytes) and sends it to watchers: kind, name, from, text,
-- tagged, tags, reply_to, root ('': it begins a chain), hop, account, whose (of whom it is counted; '': of nobody),
-- asker (deliveries.asker_of who wrote it, or the message of a person that it follows from; not stored).
-- bots: names and kinds of those that it calls; lease_n: how many of these deliveries this node may have at once.
-- Returns its id, and the lines of the deliveries after their number.
local function add(turn, room, r, m, bots, lease_n)
    m.id = next_id(turn, r.last)
    if m.root == '' then m.root = m.id end
    m.bytes = format('%d', bytes_of(m))
    call('XADD', key_of(turn, room), m.id, 'kind', m.kind, 'name', m.name, 'from', m.from, 'text', m.text,
         'tagged', m.tagged, 'tags', m.tags, 'reply_to', m.reply_to, 'root', m.root, 'hop', m.hop, 'account', m.account,
         'whose', m.whose, 'bytes', m.bytes)
    count_of(turn, m, 1)
    local n = call('XLEN', key_of(turn, room))
    if n == 1 then call('ZREM', turn.prefix .. 'rooms_empty', room) end
    local bytes = trim(turn, room, n, (tonumber(r.bytes) or 0) + m.bytes)
    call('HSET', r.key, 'last', m.id, 'n', format('%d', (tonumber(r.n) or 0) + 1), 'bytes', format('%d', bytes))
    rooms.notify(turn, room, r.last or '', lines(m))
    local text = {'0'}
    if tonumber(m.hop) < HOPS_MAX then
        for k = 1, m.kind == 'b' and min(#bots, CALLS_OF_BOT) or #bots do
            bounds.note_read(turn, DELIVERY, 0)
            local id, fence = deliveries.create(turn, room, m, k, bots[k], lease_n > 0)
            if fence ~= '' then lease_n = lease_n - 1 end
            deliveries.talk(turn, room, bots[k].name, m.root, m.id)
            if fence ~= '' then
                text[#text + 1] = concat({id, bots[k].name, fence, m.account, m.asker}, '\n')
            end
        end
    end
    text[1] = format('%d', #text - 1)
    return m.id, concat(text, '\n')
end

return {
    read = read, is_before = is_before, before = before, lines = lines, page = page, add = add, bytes_of = bytes_of,
    remove_of = remove_of, remove_oldest = remove_oldest, walk_of = walk_of,
}
