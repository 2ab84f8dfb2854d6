-- list_lookups: a page of a topic's queries with their lookups and matches, by ascending Seq and age. Of several shards
-- noted_lookups and read_lookups are its halves.
-- KEYS: t:<topic>, lookups:<topic>, lookup:<fingerprint>.
-- Wakes: nobody.
-- Bound: REPLY_BYTES, but one query or one lookup at least; THREAD_PAGE queries; LOOKUPS_PER_TOPIC lookups.
-- Lane: read.  Home: topic.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic  name
--   user   name?    must have a part in the topic
--   after  text 48  cursor: "<seq>" all up to that query, "<seq>.<n>" all before that query and n of its lookups; 0
--                   from the first on
--   limit  number?  queries at most; THREAD_PAGE without
-- Replies: missing | replay | ok/cursor of the next page ('' when there is none), then per query in ascending Seq: its
--   Seq / query (JSON) / n, and n times fingerprint / fragment (JSON) / matches (JSON, '' while there are none). A
--   query that did not fit comes again on the next page, with the rest of its lookups
local listed = require('lookup/listed')
local records = require('queue/records')
local bounds = require('turn/bounds')
local hashes = require('turn/hashes')
local call = redis.call
local format, match = string.format, string.match
local concat = table.concat
local min = math.min
local REPLY_BYTES, THREAD_PAGE = bounds.REPLY_BYTES, bounds.THREAD_PAGE

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local key = P .. 't:' .. topic
    local got = call('HMGET', key, 'seq', 'u:' .. user)
    if not got[1] or (user ~= '' and not got[2]) then return 'missing' end
    local by_seq, last, text, bytes = listed.by_seq(turn, topic), tonumber(got[1]), {'ok', ''}, 0
    local queries = min(limit or THREAD_PAGE, THREAD_PAGE)
    local last_seq, done = match(after, '^(%d+)%.?(%d*)$')
    local first = tonumber(last_seq) + (done == '' and 1 or 0)
    done = tonumber(done) or 0
    for n = first, last do
        local seq = format('%d', n)
        bytes = bytes + hashes.bytes_of(key, 'q:' .. seq)
        if n > first and (bytes > REPLY_BYTES or n - first == queries) then
            text[2] = format('%d', n - 1)
            break
        end
        local list, n_at = listed.sorted(by_seq[seq]), #text + 3
        text[n_at - 2], text[n_at - 1], text[n_at] = seq, records.query_of(call('HGET', key, 'q:' .. seq)), 0
        for i = done + 1, #list do
            local lookup = P .. 'lookup:' .. list[i]
            bytes = bytes + hashes.bytes_of(lookup, 'fragment', 'matches')
            if #text > 5 and bytes > REPLY_BYTES then
                text[2] = seq .. '.' .. (i - 1)
                break
            end
            local found = call('HMGET', lookup, 'fragment', 'matches')
            text[n_at] = text[n_at] + 1
            text[#text + 1] = list[i]
            text[#text + 1] = found[1] or '""'
            text[#text + 1] = found[2] or ''
        end
        if text[2] ~= '' then break end
        done = 0
    end
    return concat(text, '\n')
end

return {list_lookups = verb}
