-- noted_lookups: the first half of list_lookups with several shards: returns a page of a topic's queries with the
--   fingerprints that they need. The lookups themselves are on shard 0 (read_lookups).
-- KEYS: t:<topic>, lookups:<topic>.
-- Wakes: nobody.
-- Bound: REPLY_BYTES, but one query at least; THREAD_PAGE queries; NOTED_PAGE lookups.
-- Lane: slow.  Home: topic.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic  name
--   user   name?    must have a tie to the topic
--   after  text 48  cursor, as of list_lookups
--   limit  number?  queries at most; THREAD_PAGE without
-- Replies: missing | ok/number of the topic (0: it needs none)/cursor of the next page ('' when there is none), then
--   per query in ascending Seq: its Seq / query (JSON) / its lookups on former pages / n, and n fingerprints
local listed = require('lookup/listed')
local concat = table.concat
local min = math.min

local NOTED_PAGE = 200 -- as many as read_lookups takes

local function verb(turn, a)
    --- arguments
    local text, left = {'ok', '', ''}, NOTED_PAGE
    local cursor, number = listed.page(turn, topic, user, after, limit, function(seq, query, list, done, bytes)
        if left == 0 then return nil end
        local to = min(#list, done + left)
        text[#text + 1], text[#text + 2], text[#text + 3], text[#text + 4] = seq, query, done, to - done
        for i = done + 1, to do text[#text + 1] = list[i] end
        left = left - (to - done)
        return to, bytes
    end)
    if not cursor then return 'missing' end
    text[2], text[3] = number, cursor
    return concat(text, '\n')
end

return {noted_lookups = verb}
