-- user_texts: returns a page of the texts of a user's topics, newest topic first: names, questions and answers, as
--   JSON. Nodes look for a text in them (services/broker/find_topics.c), so that Redis is busy with reading alone.
-- KEYS: topics:<user>, names:<user>, t:<topic>.
-- Wakes: nobody.
-- Bound: REPLY_BYTES, but one question at least; reads READ_BYTES, where a command counts ROW_BYTES.
-- Lane: slow.  Home: every.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   user   name
--   after  text? 640  cursor: "<Seq>.<microseconds>.<topic>", of the first question; from the newest topic on without
-- Replies: replay | ok/cursor of the next page ('' when there is none), then per topic 6 lines: topic, its place
--   ("<microseconds>.<topic>"), the name that the user gave it (JSON; '' without one), how it is shown (JSON, cut), Seq
--   of its first question here, how many follow; per question its row (7 lines) and its answers (the inside of a JSON
--   list)
local records = require('queue/records')
local bounds = require('turn/bounds')
local order = require('turn/order')
local call = redis.call
local concat = table.concat
local find, format, match, sub = string.find, string.format, string.match, string.sub
local READ_BYTES, REPLY_BYTES, ROW_BYTES = bounds.READ_BYTES, bounds.REPLY_BYTES, bounds.ROW_BYTES

local PAGE = 100
local NO_ROW = '0\n% % % 1\n""\n""\n{}\n\n""'

-- The topic to continue with, its place among all, and the Seq.
local function place_of(mine, cursor)
    local seq, us, topic = match(cursor, '^(%d+)%.(%d+)%.(.*)$')
    if not seq then return 0, 1 end
    local rank = call('ZREVRANK', mine, topic)
    if rank then return rank, tonumber(seq) end
    return call('ZCOUNT', mine, '(' .. order.score_of(us), '+inf'), 1 -- it is gone: those of the same time come again
end

local function is_full(page)
    return page.bytes >= REPLY_BYTES or page.read_bytes + page.commands * ROW_BYTES >= READ_BYTES
end

local function note_read(page, commands, bytes)
    page.commands, page.read_bytes = page.commands + commands, page.read_bytes + bytes
end

-- Puts the questions of a topic from `from` on. Returns the last one that is here.
local function put_rows(page, key, from, last)
    local text = page.text
    for seq = from, last do
        local n, at = format('%d', seq), #text
        local got = call('HMGET', key, 'q:' .. n, 'a:' .. n)
        local row, answer = got[1] or NO_ROW, got[2] or ''
        local answers = answer ~= '' and sub(answer, 2, find(answer, '\n', 1, true) - 2) or ''
        text[at + 1], text[at + 2], text[at + 3], text[at + 4] = '\n', row, '\n', answers
        page.bytes = page.bytes + #row + #answers + 2
        note_read(page, 1, #row + #answer)
        if is_full(page) then return seq end
    end
    return last
end

-- How a topic is shown: under its own name, or with its first question.
local function shown_of(page, key, own, title)
    if own then return records.title_of(own) end
    if title then return title end
    local first = call('HGET', key, 'q:1') or ''
    note_read(page, 1, #first)
    return records.title_of(records.query_of(first))
end

-- Returns the Seq to continue with, if its questions are not all here.
local function put_topic(turn, page, topic, place, own, from)
    local key, text = turn.prefix .. 't:' .. topic, page.text
    local got = call('HMGET', key, 'seq', 'title')
    note_read(page, 3, #(own or '') + #(got[2] or ''))
    if not got[1] then return nil end
    local at, last = #text + 1, tonumber(got[1])
    text[at] = ''
    local to = put_rows(page, key, from, last)
    local n = to < from and 0 or to - from + 1
    text[at] = concat({
        '\n' .. topic, place, own or '', shown_of(page, key, own, got[2]), format('%d\n%d', from, n),
    }, '\n')
    page.bytes = page.bytes + #text[at]
    return to < last and to + 1 or nil
end

local function verb(turn, a)
    --- arguments
    local mine, names = turn.prefix .. 'topics:' .. user, turn.prefix .. 'names:' .. user
    local rank, from = place_of(mine, after)
    local page, next_at = {text = {''}, bytes = 0, commands = 0, read_bytes = 0}, nil
    repeat
        local topics = call('ZREVRANGE', mine, rank, rank + PAGE - 1, 'WITHSCORES')
        for i = 1, #topics, 2 do
            local topic = topics[i]
            local place = order.text_of(topics[i + 1]) .. '.' .. topic
            local seq = is_full(page) and 1
                or put_topic(turn, page, topic, place, call('HGET', names, topic), from)
            if seq then
                next_at = format('%d', seq) .. '.' .. place
                break
            end
            from = 1
        end
        rank = rank + PAGE
    until next_at or #topics < 2 * PAGE
    bounds.note_read(turn, page.commands, page.read_bytes)
    page.text[1] = 'ok\n' .. (next_at or '')
    return page.text
end

return {user_texts = verb}
