-- noted_lookups: as list_lookups, of several shards: a page of a topic's queries with the fingerprints that they need.
-- What these are is on shard 0 (read_lookups).
-- KEYS: t:<topic>, lookups:<topic>.
-- Wakes: nobody.
-- Bound: REPLY_BYTES, but one query at least; THREAD_PAGE queries; NOTED_PAGE lookups.
-- Lane: read.  Home: topic.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic  name
--   user   name?    must have a part in the topic
--   after  text 48  cursor, as of list_lookups
--   limit  number?  queries at most; THREAD_PAGE without
-- Replies: missing | ok/number of the topic (0: it needs none)/cursor of the next page ('' when there is none), then
--   per query in ascending Seq: its Seq / query (JSON) / its lookups on former pages / n, and n fingerprints
local listed = require('lookup/listed')
local records = require('queue/records')
local bounds = require('turn/bounds')
local hashes = require('turn/hashes')
local call = redis.call
local format, match = string.format, string.match
local concat = table.concat
local min = math.min
local REPLY_BYTES, THREAD_PAGE = bounds.REPLY_BYTES, bounds.THREAD_PAGE

local NOTED_PAGE = 200 -- as many as read_lookups takes

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local key = P .. 't:' .. topic
    local got = call('HMGET', key, 'seq', 'u:' .. user, 'lookups')
    if not got[1] or (user ~= '' and not got[2]) then return 'missing' end
    local by_seq, text, bytes, left = listed.by_seq(turn, topic), {'ok', got[3] or '0', ''}, 0, NOTED_PAGE
    local last, queries = tonumber(got[1]), min(limit or THREAD_PAGE, THREAD_PAGE)
    local last_seq, done = match(after, '^(%d+)%.?(%d*)$')
    local first = tonumber(last_seq) + (done == '' and 1 or 0)
    done = tonumber(done) or 0
    for n = first, last do
        local seq = format('%d', n)
        bytes = bytes + hashes.bytes_of(key, 'q:' .. seq)
        if n > first and (bytes > REPLY_BYTES or n - first == queries or left == 0) then
            text[3] = format('%d', n - 1)
            break
        end
        local list = listed.sorted(by_seq[seq])
        local to = min(#list, done + left)
        text[#text + 1], text[#text + 2] = seq, records.query_of(call('HGET', key, 'q:' .. seq))
        text[#text + 1], text[#text + 2] = done, to - done
        for i = done + 1, to do text[#text + 1] = list[i] end
        left = left - (to - done)
        if to < #list then
            text[3] = seq .. '.' .. to
            break
        end
        done = 0
    end
    return concat(text, '\n')
end

return {noted_lookups = verb}
