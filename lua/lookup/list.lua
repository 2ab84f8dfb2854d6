-- list_lookups: returns a page of a topic's queries with their lookups and matches, by ascending Seq and age. With
--   several shards, noted_lookups and read_lookups are its two halves.
-- KEYS: t:<topic>, lookups:<topic>, lookup:<fingerprint>.
-- Wakes: nobody.
-- Bound: REPLY_BYTES, but one query or one lookup at least; THREAD_PAGE queries; LOOKUPS_PER_TOPIC lookups.
-- Lane: slow.  Home: topic.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic  name
--   user   name?    must have a tie to the topic
--   after  text 48  cursor: "<seq>" all up to that query, "<seq>.<n>" all before that query and n of its lookups; 0
--                   from the first on
--   limit  number?  queries at most; THREAD_PAGE without
-- Replies: missing | replay | ok/cursor of the next page ('' when there is none), then per query in ascending Seq: its
--   Seq / query (JSON) / n, and n times fingerprint / fragment (JSON) / matches (JSON, '' while there are none). A
--   query that did not fit comes again on the next page, with the rest of its lookups
local listed = require('lookup/listed')
local bounds = require('turn/bounds')
local hashes = require('turn/hashes')
local call = redis.call
local concat = table.concat
local REPLY_BYTES = bounds.REPLY_BYTES

local function verb(turn, a)
    --- arguments
    local text = {'ok', ''}
    local cursor = listed.page(turn, topic, user, after, limit, function(seq, query, list, done, bytes)
        local n_at = #text + 3
        text[n_at - 2], text[n_at - 1], text[n_at] = seq, query, 0
        for i = done + 1, #list do
            local lookup = turn.prefix .. 'lookup:' .. list[i]
            bounds.note_read(turn, 3, 0)
            bytes = bytes + hashes.bytes_of(lookup, 'fragment', 'matches')
            if #text > 5 and bytes > REPLY_BYTES then return i - 1, bytes end
            local found = call('HMGET', lookup, 'fragment', 'matches')
            text[n_at] = text[n_at] + 1
            text[#text + 1] = list[i]
            text[#text + 1] = found[1] or '""'
            text[#text + 1] = found[2] or ''
        end
        return #list, bytes
    end)
    if not cursor then return 'missing' end
    text[2] = cursor
    return concat(text, '\n')
end

return {list_lookups = verb}
