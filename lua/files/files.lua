-- files: the files of OpenAI's interface (/v1/files), the hash file:<id> each, with the bytes in the list
-- file_bytes:<id>: of an upload blocks of 1 MiB, of what a batch writes its lines. An id is "<owner>-<file>", where
-- owner is a digest of account and user: all of their files and batches are on its shard. The zset
-- files:<account>:<user> has the files in the order of creation, filers:<user> the accounts that have files of a
-- user, files_due all files that expire.
local stored = require('queue/stored')
local bounds = require('turn/bounds')
local hashes = require('turn/hashes')
local order = require('turn/order')
local call = redis.call
local format, match = string.format, string.match
local concat = table.concat

local FILES_MAX = 10000 -- of an account and user
local COMMANDS = 10     -- to drop one

local function bytes_key(turn, id)
    return turn.prefix .. 'file_bytes:' .. id
end

local function list_key(turn, account, user)
    return turn.prefix .. 'files:' .. account .. ':' .. user
end

-- A file, or nil.
local function read(turn, id)
    local key = turn.prefix .. 'file:' .. id
    local f = hashes.fields(key, 'account', 'user', 'purpose', 'filename', 'bytes', 'created', 'expires', 'counted')
    bounds.note_read(turn, 1, 0)
    if not f.account then return nil end
    f.key, f.id = key, id
    return f
end

-- The same if it is one of theirs and has not expired.
local function read_of(turn, id, account, user)
    local f = read(turn, id)
    if not f or f.account ~= account or f.user ~= user then return nil end
    if f.expires ~= '' and tonumber(f.expires) <= turn.now_ms then return nil end
    return f
end

-- Counts bytes of an account and user, as lua/queue/stored.lua does. Without a limit (`most` nil) nothing is counted.
-- Returns what refuses them, or nil.
local function count(turn, account, user, bytes, most, most_of_user)
    if not most then return nil end
    return stored.count(turn, account, account .. ' ' .. user, stored.whole(bytes), most, most_of_user)
end

-- Would they be refused? Counts nothing.
local function refusal_of(turn, account, user, bytes, most, most_of_user)
    local refused = count(turn, account, user, bytes, most, most_of_user)
    if refused or not most then return refused end
    stored.count(turn, account, account .. ' ' .. user, -stored.whole(bytes))
    return nil
end

local function has_room(turn, account, user)
    return call('ZCARD', list_key(turn, account, user)) < FILES_MAX
end

-- Puts a file into the lists.
local function list_file(turn, f, place)
    local P = turn.prefix
    call('ZADD', list_key(turn, f.account, f.user), place, f.id)
    call('SADD', P .. 'filers:' .. f.user, f.account)
    if f.expires ~= '' then call('ZADD', P .. 'files_due', f.expires, f.id) end
end

-- Creates a file, whose bytes are in its list already. `counted`: the bytes that were counted for it. `expires`: in ms,
-- as text, or ''.
local function create(turn, f, counted)
    local place = order.next(turn, list_key(turn, f.account, f.user))
    call('HSET', turn.prefix .. 'file:' .. f.id, 'account', f.account, 'user', f.user, 'purpose', f.purpose,
         'filename', f.filename, 'bytes', format('%d', f.bytes), 'created', turn.now_text, 'expires', f.expires,
         'counted', format('%d', counted), 'place', place)
    list_file(turn, f, place)
end

local function drop(turn, f)
    local P, mine = turn.prefix, list_key(turn, f.account, f.user)
    local counted = tonumber(f.counted)
    if counted > 0 then stored.count(turn, f.account, f.account .. ' ' .. f.user, -counted) end
    call('UNLINK', f.key, bytes_key(turn, f.id))
    call('ZREM', mine, f.id)
    call('ZREM', P .. 'files_due', f.id)
    if call('EXISTS', mine) == 0 then call('SREM', P .. 'filers:' .. f.user, f.account) end
    bounds.note_read(turn, COMMANDS, 0)
end

-- The same of one that is in their list, whatever is there of it.
local function drop_id(turn, id, account, user)
    local f = read(turn, id)
        or {key = turn.prefix .. 'file:' .. id, id = id, account = account, user = user, counted = '0'}
    drop(turn, f)
end

-- Deletes `n` files at most that have expired.
local function sweep(turn, n)
    local due = turn.prefix .. 'files_due'
    for _, id in ipairs(call('ZRANGEBYSCORE', due, '-inf', turn.now_text, 'LIMIT', 0, n)) do
        local f = read(turn, id)
        if f then drop(turn, f) else call('ZREM', due, id) end
    end
end

-- The id as clients have it.
local function short_of(id)
    return match(id, '^[^-]+%-(.*)$')
end

-- A file as verbs reply it, 6 lines.
local function as_text(f)
    return concat({short_of(f.id), f.bytes, f.created, f.expires, f.filename, f.purpose}, '\n')
end

-- Restores a file out of a backup: its fields as they were.
local function restore(turn, name, fields)
    local key, id = turn.prefix .. name, match(name, '^file:(.*)$')
    local is_new = call('EXISTS', key) == 0
    call('HSET', key, unpack(fields))
    local f = is_new and read(turn, id)
    if not f then return end
    list_file(turn, f, call('HGET', key, 'place'))
    if f.counted ~= '0' then stored.count(turn, f.account, f.account .. ' ' .. f.user, tonumber(f.counted)) end
end

return {
    bytes_key = bytes_key, list_key = list_key, read_of = read_of, count = count, refusal_of = refusal_of,
    has_room = has_room, create = create, drop = drop, drop_id = drop_id, sweep = sweep, short_of = short_of,
    as_text = as_text, restore = restore,
}
