-- listed: lists the lookups that the queries of a topic need (lookups:<topic>), in pages.
local records = require('queue/records')
local bounds = require('turn/bounds')
local hashes = require('turn/hashes')
local call = redis.call
local format, match = string.format, string.match
local sort = table.sort
local min = math.min
local LOOKUPS_PER_TOPIC, REPLY_BYTES, THREAD_PAGE = bounds.LOOKUPS_PER_TOPIC, bounds.REPLY_BYTES, bounds.THREAD_PAGE

local LISTED_MAX = 'waiting\n' .. LOOKUPS_PER_TOPIC .. '\n\ntopic'

-- May a query need that lookup? When it was asked for, as lookups:<topic> has it (nil: it is new), and a refusal, or
-- the query's row and the topic's field `stored`.
local function check(turn, topic, seq, user, fingerprint)
    local P = turn.prefix
    local got = call('HMGET', P .. 't:' .. topic, 'q:' .. seq, 'u:' .. user, 'stored')
    if not got[1] or (user ~= '' and not got[2]) then return nil, 'missing' end
    bounds.note_read(turn, 0, #got[1])
    local mine = P .. 'lookups:' .. topic
    local had = call('HGET', mine, seq .. ' ' .. fingerprint)
    if not had and call('HLEN', mine) >= LOOKUPS_PER_TOPIC then return nil, LISTED_MAX end
    return had or nil, nil, got[1], got[3]
end

-- By Seq: a list of {when, fingerprint}.
local function by_seq(turn, topic)
    local lists, all = {}, call('HGETALL', turn.prefix .. 'lookups:' .. topic)
    for i = 1, #all, 2 do
        local seq, fingerprint = match(all[i], '^(%d+) (%x+)$')
        lists[seq] = lists[seq] or {}
        lists[seq][#lists[seq] + 1] = {tonumber(all[i + 1]), fingerprint}
    end
    return lists
end

-- The fingerprints of such a list, or of nil, by age.
local function sorted(list)
    list = list or {}
    sort(list, function(x, y) return x[1] < y[1] or (x[1] == y[1] and x[2] < y[2]) end)
    local fingerprints = {}
    for i = 1, #list do fingerprints[i] = list[i][2] end
    return fingerprints
end

-- A page of a topic's queries, by ascending Seq: begins after the cursor `after`, ends with `limit` queries, or
-- REPLY_BYTES. Calls put(seq, query, fingerprints, done, bytes) for each: `done` of its lookups were on former pages,
-- `bytes` is the size of the page with that query. It returns how many of them are listed now, and the size with those;
-- nil when the page ends before that query. Returns the cursor of the next page ('' when there is none), and the
-- topic's number (lookup/needs.lua); nil when the user has no such topic.
local function page(turn, topic, user, after, limit, put)
    local key = turn.prefix .. 't:' .. topic
    local got = call('HMGET', key, 'seq', 'u:' .. user, 'lookups')
    if not got[1] or (user ~= '' and not got[2]) then return nil end
    local lists, bytes, number = by_seq(turn, topic), 0, got[3] or '0'
    local last_seq, done = match(after, '^(%d+)%.?(%d*)$')
    local first = tonumber(last_seq) + (done == '' and 1 or 0)
    local queries = min(limit or THREAD_PAGE, THREAD_PAGE)
    done = tonumber(done) or 0
    for n = first, tonumber(got[1]) do
        local seq = format('%d', n)
        bounds.note_read(turn, 2, 0)
        bytes = bytes + hashes.bytes_of(key, 'q:' .. seq)
        if n > first and (bytes > REPLY_BYTES or n - first == queries) then return format('%d', n - 1), number end
        local list = sorted(lists[seq])
        local to, size = put(seq, records.query_of(call('HGET', key, 'q:' .. seq)), list, done, bytes)
        if not to then return format('%d', n - 1), number end
        bytes = size
        if to < #list then return seq .. '.' .. to, number end
        done = 0
    end
    return '', number
end

return {check = check, page = page}
