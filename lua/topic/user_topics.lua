-- user_topics: returns a page of a user's topics, newest last, each with its first query or its new name.
-- KEYS: topics:<user> zset, names:<user> hash, t:<topic>.
-- Wakes: nobody.
-- Bound: REPLY_BYTES and READ_BYTES, but one topic at least; TOPICS_PAGE topics.
-- Lane: slow.  Home: every.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   user      name
--   after     text? 512  cursor; from the oldest on without
--   limit     number?    topics at most; TOPICS_PAGE without
--   is_whole  flag       names whole, else cut to TITLE_CHARS
-- Replies: replay | ok/cursor of the next page ('' when there is none), then per topic its place (a cursor), its name
--   and its text (JSON)
local records = require('queue/records')
local bounds = require('turn/bounds')
local order = require('turn/order')
local call = redis.call
local match = string.match
local concat = table.concat
local min = math.min
local READ_BYTES, REPLY_BYTES, ROW_BYTES = bounds.READ_BYTES, bounds.REPLY_BYTES, bounds.ROW_BYTES

local TOPICS_PAGE = 1000
local COMMANDS = 3 -- for a topic

-- A topic's name as the user sees it, and how many bytes were read for it.
local function name_of(turn, topic, own, is_whole)
    if own then return is_whole and own or records.title_of(own), #own end
    local key = turn.prefix .. 't:' .. topic
    local title = not is_whole and call('HGET', key, 'title')
    if title then return title, #title end
    local row = call('HGET', key, 'q:1')
    if not row then return nil, 0 end
    local query = records.query_of(row)
    return is_whole and query or records.title_of(query), #row
end

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local n = min(limit or TOPICS_PAGE, TOPICS_PAGE)
    local mine, names = P .. 'topics:' .. user, P .. 'names:' .. user
    local renamed = call('EXISTS', names) == 1
    local text, from, bytes, topics, scanned = {'ok', ''}, 0, 0, 0, 0
    if after ~= '' then from = order.rank_after(mine, match(after, '^(%d+)%.(.*)$')) end
    local page = call('ZRANGE', mine, from, from + n, 'WITHSCORES') -- one more than fits: is there a next page?
    for i = 1, #page, 2 do
        if i > 1 and (i > 2 * n or bytes > REPLY_BYTES or topics * COMMANDS * ROW_BYTES + scanned > READ_BYTES) then
            text[2] = order.text_of(page[i - 1]) .. '.' .. page[i - 2]
            break
        end
        local name, read = name_of(turn, page[i], renamed and call('HGET', names, page[i]), is_whole)
        topics, scanned = topics + 1, scanned + read
        if name then
            text[#text + 1] = order.text_of(page[i + 1]) .. '.' .. page[i]
            text[#text + 1] = page[i]
            text[#text + 1] = name
            bytes = bytes + #page[i] + #name
        end
    end
    bounds.note_read(turn, topics * COMMANDS, scanned)
    return concat(text, '\n')
end

return {user_topics = verb}
