-- batches: the batches of OpenAI's interface (/v1/batches), the hash batch:<id> each. An id is "<owner>-<batch>", on
-- the shard of its files (files/files.lua). The node that holds a batch (turn/leased.lua) reads its input, sends each
-- line as a request of its own, and stores what comes back with batch_put. A line's result and its mark change in one
-- step, so whatever node or engine is lost, each line is in the results once. The results are the lists
-- batch_output:<id> and batch_errors:<id>, and become files at the end.
--   validating -> failed | in_progress -> completed | expired; before the end cancelling -> cancelled
--     done       lines (from 0) before it are stored
--     at         where it begins in the input, in bytes
--     d:<line>   where a later line ends that is stored, too
local files = require('files/files')
local stored = require('queue/stored')
local bounds = require('turn/bounds')
local hashes = require('turn/hashes')
local leased = require('turn/leased')
local call = redis.call
local format, match, sub = string.format, string.match, string.sub
local concat = table.concat
local min = math.min

local LEASE_MS = 6000
local OPEN = {validating = true, in_progress = true, cancelling = true}
local KIND = {
    set = 'batches_due', key = 'batch:', state = 'status', held_in = OPEN, ms = LEASE_MS,
    longest_ms = LEASE_MS * leased.LONGEST,
} -- turn/leased.lua
local OPEN_MAX = 100          -- of an account and user, that have not ended
local KEPT_MAX = 1000         -- of them
local KEPT_MS = 30 * 86400000 -- after its end; its results as long, or as its client has asked
local RESULT_BYTES = 104857600 -- of each of its two files
local COMMANDS = 17           -- to drop one
local FIELDS = {
    'endpoint', 'input', 'status', 'created', 'in_progress', 'expires', 'finalizing', 'completed_at', 'failed_at',
    'expired_at', 'cancelling_at', 'cancelled_at', 'total', 'completed', 'failed', 'output', 'error', 'errors',
    'metadata',
}

local function list_key(turn, account, user)
    return turn.prefix .. 'batches:' .. account .. ':' .. user
end

local function results_key(turn, id, kind)
    local P = turn.prefix
    return kind == 'output' and P .. 'batch_output:' .. id or P .. 'batch_errors:' .. id
end

-- A batch without its marks, or nil.
local function read(turn, id)
    local key = turn.prefix .. 'batch:' .. id
    local b = hashes.fields(key, 'account', 'user', 'status', 'input', 'expires', 'total', 'done', 'at', 'fence',
                            'node', 'output_n', 'output_bytes', 'errors_n', 'errors_bytes',
                            'counted', 'is_full', 'taken', 'completed', 'failed', 'created', 'kept')
    bounds.note_read(turn, 1, 0)
    if not b.account then return nil end
    b.key, b.id, b.whose = key, id, b.account .. ' ' .. b.user
    return b
end

local function read_of(turn, id, account, user)
    local b = read(turn, id)
    return b and b.account == account and b.user == user and b or nil
end

-- The same if this fence holds it.
local function read_held(turn, id, fence)
    local b = read(turn, id)
    return b and b.fence == fence and OPEN[b.status] and b or nil
end

-- A batch as verbs reply it: its id and FIELDS, each on a line.
local function as_text(turn, id)
    local got = call('HMGET', turn.prefix .. 'batch:' .. id, unpack(FIELDS))
    bounds.note_read(turn, 2, 0)
    for i = 1, #FIELDS do got[i] = got[i] or '' end
    return files.short_of(id) .. '\n' .. concat(got, '\n')
end

local function add_to(key, field, delta)
    if call('HINCRBY', key, field, delta) <= 0 then call('HDEL', key, field) end
end

-- One more of an account and user that has not ended, or one less.
local function count_open(turn, whose, delta)
    add_to(turn.prefix .. 'batches_open', whose, delta)
    add_to(turn.prefix .. 'batches_n', 'open', delta)
end

-- More lines of batches that have not ended have no result, or fewer.
local function count_lines(turn, delta)
    if delta ~= 0 then add_to(turn.prefix .. 'batches_n', 'lines', delta) end
end

local function lines_left(b)
    return tonumber(b.total) - tonumber(b.completed) - tonumber(b.failed)
end

-- It has ended.
local function uncount(turn, b)
    count_open(turn, b.whose, -1)
    count_lines(turn, -lines_left(b))
end

-- On this shard: batches that have not ended, and their lines without a result.
local function counts(turn)
    local got = call('HMGET', turn.prefix .. 'batches_n', 'open', 'lines')
    return tonumber(got[1] or 0), tonumber(got[2] or 0)
end

local function open_n(turn, whose)
    return tonumber(call('HGET', turn.prefix .. 'batches_open', whose) or 0)
end

-- Puts a batch into the lists.
local function list_batch(turn, b, place)
    call('ZADD', list_key(turn, b.account, b.user), place, b.id)
    call('ZADD', turn.prefix .. 'batches_all', b.created, b.id)
    call('SADD', turn.prefix .. 'batchers:' .. b.user, b.account)
end

-- Counts the bytes of its results, `more` than before. Returns what refuses them, or nil.
local function count_results(turn, b, more, most, most_of_user)
    local had = tonumber(b.output_bytes) + tonumber(b.errors_bytes)
    local bytes = stored.whole(had + more) - stored.whole(had)
    if bytes == 0 or (not most and b.counted == '0') then return nil end
    local refused = stored.count(turn, b.account, b.whose, bytes, most, most_of_user)
    if not refused then b.counted = format('%d', tonumber(b.counted) + bytes) end
    return refused
end

-- Makes a file of its results of that kind, if there are any.
local function make_file(turn, b, kind, counted)
    local n, bytes = b[kind .. '_n'], b[kind .. '_bytes']
    if n == '0' then return 0 end
    local owner, short = match(b.id, '^([^-]+)%-(.*)$')
    local name = sub(redis.sha1hex(b.id .. ' ' .. kind), 1, 24)
    local kept_ms = b.kept and tonumber(b.kept) * 1000 or KEPT_MS
    local f = {
        id = owner .. '-' .. name, account = b.account, user = b.user, purpose = 'batch_output',
        filename = '"batch_' .. short .. '_' .. kind .. '.jsonl"', bytes = tonumber(bytes),
        expires = format('%d', turn.now_ms + kept_ms),
    }
    call('RENAME', results_key(turn, b.id, kind), files.bytes_key(turn, f.id))
    files.create(turn, f, counted)
    call('HSET', b.key, kind == 'output' and 'output' or 'error', name)
    return counted
end

-- Ends it: `status` is completed, failed, expired or cancelled.
local function finish(turn, b, status)
    local counted = tonumber(b.counted)
    local of_errors = counted > 0 and stored.whole(tonumber(b.errors_bytes)) or 0
    of_errors = min(of_errors, counted)
    local kept = make_file(turn, b, 'errors', of_errors)
    local rest = counted - kept
    kept = kept + make_file(turn, b, 'output', rest)
    if kept < counted then stored.count(turn, b.account, b.whose, kept - counted) end
    local marks = {}
    for _, field in ipairs(call('HKEYS', b.key)) do
        if sub(field, 1, 2) == 'd:' then marks[#marks + 1] = field end
    end
    bounds.in_parts(marks, function(...) call('HDEL', b.key, ...) end)
    call('HSET', b.key, 'status', status, status == 'completed' and 'completed_at' or status .. '_at', turn.now_text,
         'finalizing', turn.now_text, 'counted', 0, 'output_n', 0, 'errors_n', 0, 'output_bytes', 0, 'errors_bytes', 0)
    uncount(turn, b)
    leased.forget(turn, KIND, b)
    call('ZADD', turn.prefix .. 'batches_done', turn.now_text, b.id)
    b.status = status
end

-- Deletes it, with results that are no files yet. The node that holds it finds out with its next call.
local function drop(turn, b)
    local P, mine = turn.prefix, list_key(turn, b.account, b.user)
    if OPEN[b.status] then
        uncount(turn, b)
        leased.forget(turn, KIND, b)
    end
    local counted = tonumber(b.counted)
    if counted > 0 then stored.count(turn, b.account, b.whose, -counted) end
    call('UNLINK', b.key, results_key(turn, b.id, 'output'), results_key(turn, b.id, 'errors'))
    call('ZREM', mine, b.id)
    call('ZREM', P .. 'batches_all', b.id)
    call('ZREM', P .. 'batches_done', b.id)
    if call('EXISTS', mine) == 0 then call('SREM', P .. 'batchers:' .. b.user, b.account) end
    bounds.note_read(turn, COMMANDS, 0)
end

-- The same of one that is in their list, whatever is there of it.
local function drop_id(turn, id, account, user)
    local b = read(turn, id)
    if b then return drop(turn, b) end
    local mine = list_key(turn, account, user)
    call('ZREM', mine, id)
    call('ZREM', turn.prefix .. 'batches_all', id)
    if call('EXISTS', mine) == 0 then call('SREM', turn.prefix .. 'batchers:' .. user, account) end
end

-- Is there room for one more? Of KEPT_MAX the oldest one that has ended is deleted.
local function make_room(turn, account, user)
    local key = list_key(turn, account, user)
    if call('ZCARD', key) < KEPT_MAX then return true end
    for _, id in ipairs(call('ZRANGE', key, 0, OPEN_MAX)) do
        local b = read(turn, id)
        if not b or not OPEN[b.status] then
            drop_id(turn, id, account, user)
            return true
        end
    end
    return false
end

-- Deletes `n` batches at most that ended long ago.
local function sweep(turn, n)
    local before = format('%d', turn.now_ms - KEPT_MS)
    local done = turn.prefix .. 'batches_done'
    for _, id in ipairs(call('ZRANGEBYSCORE', done, '-inf', before, 'LIMIT', 0, n)) do
        local b = read(turn, id)
        if b then drop(turn, b) else call('ZREM', done, id) end
    end
end

-- Restores a batch out of a backup: its fields as they were. One that has not ended may be taken at once.
local function restore(turn, name, fields)
    local key, id = turn.prefix .. name, match(name, '^batch:(.*)$')
    local is_new = call('EXISTS', key) == 0
    call('HSET', key, unpack(fields))
    local b = is_new and read(turn, id)
    if not b then return end
    list_batch(turn, b, call('HGET', key, 'place'))
    if b.counted ~= '0' then stored.count(turn, b.account, b.whose, tonumber(b.counted)) end
    if OPEN[b.status] then
        call('HDEL', key, 'fence', 'node')
        count_open(turn, b.whose, 1)
        count_lines(turn, lines_left(b))
        leased.put(turn, KIND, b, turn.now_ms)
    else
        call('ZADD', turn.prefix .. 'batches_done', turn.now_text, id)
    end
end

-- Its results may have been read after it: those that it does not know of are left out.
local function cut(turn, name)
    local kind, id = match(name, '^batch_(%l+):(.*)$')
    local b = read(turn, id)
    local n = b and tonumber(b[kind .. '_n']) or 0
    if n == 0 then call('UNLINK', turn.prefix .. name) else call('LTRIM', turn.prefix .. name, 0, n - 1) end
end

return {
    OPEN = OPEN, KIND = KIND, OPEN_MAX = OPEN_MAX, KEPT_MS = KEPT_MS, RESULT_BYTES = RESULT_BYTES, list_key = list_key,
    results_key = results_key, read = read, read_of = read_of, read_held = read_held, as_text = as_text,
    count_open = count_open, count_lines = count_lines, counts = counts, open_n = open_n, list_batch = list_batch,
    count_results = count_results, finish = finish, drop_id = drop_id, make_room = make_room, sweep = sweep,
    restore = restore, cut = cut,
}
