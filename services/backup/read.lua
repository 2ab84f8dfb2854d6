#!lua flags=no-writes
-- SPDX-License-Identifier: MIT
-- read: one bounded step of a backup, as a script that only reads: it also runs where Redis is full.
-- KEYS: the prefix.  ARGV: what, name, then by what:
--   key     cursor ('0' at first): a piece of any key. Returns type, expiry (ms since 1970 or ''), next cursor ('0':
--           that was all), values. Of a string longer than STRING_MAX there is none: the caller reads it itself. Those of
--           a list begin with the place of the first one.
--   topic   cursor, last Seq, identity (the latter two '' at first). Returns ok, next cursor, last Seq, identity,
--           then pairs; or gone; or changed: it is another topic by now.
--   lookup  Returns ok, due ('' when it is not to be claimed), then its fields; or gone.
--   doc     Returns ok, then what names its blobs: space, 1 if there is an upload, text, old text, generation, digest of its
--           vector set, number of elements, a text that changes with any of them; then pairs; or gone.
--   vectors digest, generation, first, n: elements of a vector set. Returns ok, then vectors (float32); or gone.
--   run     Returns ok, how many frames, step records and answers it has, the steps of its questions but the newest, the
--           step of that one ('' for none), then its fields, and with '@' those of that question; or gone.
-- A topic comes as its fields, but not those that say who waits or works (w:, l:, c:, d:, open) and no Pending
-- state: a lease means nothing elsewhere, so its claim has ended (k:). What other keys say of it comes as fields that begin with '@', read in
-- the same step: '@open <seq>' (attempts used up), '@tie <user>' (score in topics:<user>), '@name <user>',
-- '@failed <seq>' (score), '@response <seq>' (score), '@lookup <seq> <fingerprint>' (when), '@asks' (score), '@asked'. A row, its state
-- and its answer are read together, so they fit; rows past the first step's last Seq are left out with all that
-- is said of them, so there is no gap.
local P, call, what, name = KEYS[1], redis.call, ARGV[1], ARGV[2]
local match, gmatch, sub = string.match, string.gmatch, string.sub
local STEP_BYTES, STEP_FIELDS, STRING_MAX = 1048576, 1000, 65536
local FEW, MANY = 8, 100 -- fields of a hash, which may be long; members

local function expiry(key)
    local at = call('PEXPIRETIME', key)
    return at < 0 and '' or string.format('%.0f', at)
end

-- Scans on from a cursor until a step's worth was taken. take(item) returns nothing.
local function scan(command, key, cursor, count, take)
    local bytes, n = 0, 0
    repeat
        local got = call(command, key, cursor, 'COUNT', count)
        cursor = got[1]
        for i = 1, #got[2] do
            bytes, n = bytes + #got[2][i], n + 1
            take(got[2][i])
        end
    until cursor == '0' or bytes >= STEP_BYTES or n >= STEP_FIELDS
    return cursor
end

-- Entries of a stream after an id, each as id, 2 n, n fields with their values.
local function read_stream(key, after, out)
    local bytes, n = 0, 0
    repeat
        local got = call('XRANGE', key, after == '0' and '-' or '(' .. after, '+', 'COUNT', FEW)
        for i = 1, #got do
            after, n = got[i][1], n + 1
            out[#out + 1] = after
            out[#out + 1] = tostring(#got[i][2])
            for k = 1, #got[i][2] do
                out[#out + 1] = got[i][2][k]
                bytes = bytes + #got[i][2][k]
            end
        end
        if #got < FEW then return '0' end
    until bytes >= STEP_BYTES or n >= STEP_FIELDS / 4
    return after
end

-- Items of a list from a place on, which is put before them.
local function read_list(key, from, out)
    local n, at, bytes = call('LLEN', key), tonumber(from), 0
    out[#out + 1] = from
    while at < n and bytes < STEP_BYTES and at - from < STEP_FIELDS do
        local item = call('LINDEX', key, at)
        out[#out + 1] = item
        at, bytes = at + 1, bytes + #item
    end
    return at < n and string.format('%d', at) or '0'
end

local function read_key()
    local key, cursor = P .. name, ARGV[3]
    local of = call('TYPE', key)
    of = of.ok or of
    local out = {of, '', '0'}
    if of == 'none' then return out end
    out[2] = expiry(key)
    local function take(item) out[#out + 1] = item end
    if of == 'string' then
        if call('STRLEN', key) <= STRING_MAX then take(call('GET', key)) end
    elseif of == 'hash' then out[3] = scan('HSCAN', key, cursor, FEW, take)
    elseif of == 'set' then out[3] = scan('SSCAN', key, cursor, MANY, take)
    elseif of == 'zset' then out[3] = scan('ZSCAN', key, cursor, MANY, take)
    elseif of == 'stream' then out[3] = read_stream(key, cursor, out)
    elseif of == 'list' then out[3] = read_list(key, cursor, out)
    end
    return out
end

local function read_topic()
    local key, cursor, last, known = P .. 't:' .. name, ARGV[3], ARGV[4], ARGV[5]
    local got = call('HMGET', key, 'seq', 'q:1', 'open', 'digest')
    if not got[1] then return {'gone'} end
    local identity = match(got[2] or '', '^%d+\n[^\n]*') or '-'
    local is_first, out, attempts = last == '', {}, nil
    local function put(field, value)
        if not value then return end
        out[#out + 1] = field
        out[#out + 1] = value
    end
    if is_first then
        last = got[1]
    elseif identity ~= known then
        return {'changed'}
    end
    out[1], out[2], out[3], out[4] = 'ok', '0', last, identity
    local function attempts_of(seq)
        if not attempts then
            attempts = {}
            for item in gmatch(got[3] or '', '[^;]+') do
                local of, n = match(item, '^(%d+) (%d+) ')
                if of then attempts[of] = n end
            end
        end
        return attempts[seq] or '0'
    end
    if is_first then
        put('seq', last)
        put('@asks', call('ZSCORE', P .. 'asks', name))
        if got[4] and got[4] ~= '' and call('GET', P .. 'asked:' .. got[4]) == name then put('@asked', '1') end
        local lookups = call('HGETALL', P .. 'lookups:' .. name)
        for i = 1, #lookups, 2 do put('@lookup ' .. lookups[i], lookups[i + 1]) end
    end
    local function put_row(seq, row)
        local its = call('HMGET', key, 's:' .. seq, 'a:' .. seq, 'k:' .. seq)
        put('q:' .. seq, row)
        local pending = its[1] and match(its[1], '^P %d+ (%d+)')
        put('k:' .. seq, pending and string.format('%d', (tonumber(its[3]) or 0) + 1) or its[3])
        if not its[1] then return put('@open ' .. seq, attempts_of(seq)) end
        if pending then return put('@open ' .. seq, string.format('%d', math.max(0, pending - 1))) end
        put('s:' .. seq, its[1])
        put('a:' .. seq, its[2])
        if sub(its[1], 1, 1) == 'F' then put('@failed ' .. seq, call('ZSCORE', P .. 'failed', name .. ' ' .. seq)) end
    end
    local function put_field(field, value)
        local kind, rest = match(field, '^(%a):(.*)$')
        if kind == 'b' or kind == 'p' then
            if tonumber(rest) <= tonumber(last) then put(field, value) end
        elseif kind == 'n' then
            if tonumber(value) <= tonumber(last) then put(field, value) end
        elseif kind == 'q' then
            if tonumber(rest) <= tonumber(last) then put_row(rest, value) end
        elseif kind == 'i' then
            put(field, value)
            put('@response ' .. rest, call('ZSCORE', P .. 'responses', name .. ' ' .. rest))
        elseif kind == 'u' then
            put(field, value)
            put('@tie ' .. rest, call('ZSCORE', P .. 'topics:' .. rest, name))
            put('@name ' .. rest, call('HGET', P .. 'names:' .. rest, name))
        elseif not (kind and match(kind, '[sawlcdk]')) and field ~= 'seq' and field ~= 'open' then
            put(field, value)
        end
    end
    local field
    out[2] = scan('HSCAN', key, cursor, FEW, function(item)
        if field then
            put_field(field, item)
            field = nil
        else
            field = item
        end
    end)
    return out
end

local function read_lookup()
    local key = P .. 'lookup:' .. name
    local all = call('HGETALL', key)
    if #all == 0 then return {'gone'} end
    return {'ok', call('ZSCORE', P .. 'lookups', name) or '', unpack(all)}
end

local function read_doc()
    local key = P .. 'doc:' .. name
    local got = call('HMGET', key, 'space', 'text', 'old_text', 'generation', 'vectors', 'vectors_n', 'sha', 'job')
    local space = got[1]
    if not space then return {'gone'} end
    local upload = tostring(call('EXISTS', P .. 'upload:' .. name))
    local out = {'ok', space, upload, got[2], got[3], got[4], got[5], got[6], ''}
    out[9] = table.concat(out, ' ') .. ' ' .. got[7]
    local function put_hash(of, mark)
        local all = call('HGETALL', of)
        for i = 1, #all, 2 do
            out[#out + 1] = mark .. all[i]
            out[#out + 1] = all[i + 1]
        end
    end
    local function put(field, value)
        if not value then return end
        out[#out + 1] = field
        out[#out + 1] = value
    end
    put_hash(key, '')
    put_hash(P .. 'job:' .. got[8], '@job ')
    put('@recent', call('ZSCORE', P .. 'recent_jobs:' .. space, got[8]))
    put('@waiting', call('ZSCORE', P .. 'waiting_jobs', got[8]))
    local s = call('HMGET', P .. 'space:' .. space, 'model', 'dimension', 'vectors')
    put('@space model', s[1])
    put('@space dimension', s[2])
    put('@space vectors', s[3])
    return out
end

-- A question that is not the newest has ended, and does not change any more.
local function read_run()
    local all = call('HGETALL', P .. 'wfr:' .. name)
    if #all == 0 then return {'gone'} end
    local got = call('HMGET', P .. 'wfr:' .. name, 'question', 'questions')
    local newest, ended = got[1] or '', {}
    for step in gmatch(got[2] or '', '%d+') do
        if step ~= newest then ended[#ended + 1] = step end
    end
    local out = {'ok'}
    for i, word in ipairs({'wff:', 'wfs:', 'wfa:'}) do out[1 + i] = tostring(call('LLEN', P .. word .. name)) end
    out[5], out[6] = table.concat(ended, ' '), newest
    for i = 1, #all do out[6 + i] = all[i] end
    local question = newest ~= '' and call('HGETALL', P .. 'wfq:' .. name .. '.' .. newest) or {}
    for i = 1, #question, 2 do
        out[#out + 1] = '@' .. question[i]
        out[#out + 1] = question[i + 1]
    end
    return out
end

local function read_vectors()
    local key, generation, first, n = P .. 'vectors:' .. ARGV[3], ARGV[4], ARGV[5], ARGV[6]
    local out = {'ok'}
    if call('EXISTS', key) == 0 then return {'gone'} end
    for chunk = first, first + n - 1 do
        local vector = call('VEMB', key, name .. ':' .. generation .. ':' .. string.format('%d', chunk))
        if not vector then return {'gone'} end
        for i = 1, #vector do
            local value = vector[i]
            vector[i] = struct.pack('<f', tonumber(type(value) == 'table' and value.double or value))
        end
        out[#out + 1] = table.concat(vector)
    end
    return out
end

return ({key = read_key, topic = read_topic, lookup = read_lookup, doc = read_doc, run = read_run, vectors = read_vectors})[what]()
