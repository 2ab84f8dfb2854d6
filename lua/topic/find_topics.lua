-- find_topics: returns a page of a user's topics that contain a text in their name, a question or an answer, newest
--   topic first, each with its first matching query. The search runs over JSON as clients sent it, with ASCII in lower
--   case, so the text is given as JSON too: once with its letters unescaped, and once with non-ASCII letters as \u,
--   which some clients write.
-- KEYS: topics:<user>, names:<user>, t:<topic>.
-- Wakes: nobody.
-- Bound: ends with the row that reaches LOOK_BYTES; LOOK_ROWS rows, of which a topic counts one more; `limit` topics.
-- Lane: slow.  Home: every.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   user     name
--   text     text 2k   within a JSON string, in lower case
--   escaped  text? 4k  the same with \u; none when that is the same
--   after    text? 640  cursor; from the newest on without
--   limit    number    topics at most
-- Replies: replay | ok/cursor to go on with ('' when there are no more topics), then per topic 4 lines: topic, Seq (0:
--   its name alone), name (JSON), question (JSON, cut)
local records = require('queue/records')
local bounds = require('turn/bounds')
local call = redis.call
local byte, find, format, lower = string.byte, string.find, string.format, string.lower
local match, sub = string.match, string.sub
local concat = table.concat
local LOOK_BYTES = bounds.LOOK_BYTES

local LOOK_ROWS, PAGE = 5000, 100

-- The topic to go on with, its place among all, and the Seq.
local function place_of(mine, cursor)
    local seq, score, topic = match(cursor, '^(%d+)%.(%d+)%.(.*)$')
    if not seq then return 0, 1 end
    local rank = call('ZREVRANK', mine, topic)
    if rank then return rank, tonumber(seq) end
    return call('ZCOUNT', mine, '(' .. score, '+inf'), 1 -- it is gone: those of the same time come again
end

-- Is the text there, and not as the second half of an escape? The n of \n is none.
local function has(low, text)
    local at = find(low, text, 1, true)
    while at do
        local backslashes = 0
        while byte(low, at - 1 - backslashes) == 92 do backslashes = backslashes + 1 end
        if backslashes % 2 == 0 then return true end
        at = find(low, text, at + 1, true)
    end
    return false
end

local function holds(json, text, escaped)
    local low = lower(json)
    return has(low, text) or (escaped ~= '' and has(low, escaped))
end

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local mine, names = P .. 'topics:' .. user, P .. 'names:' .. user
    local rank, from = place_of(mine, after)
    local out, bytes, rows, found = {'ok', ''}, 0, 0, 0

    -- The first Seq from `from` on that holds it, and its row; or the Seq to go on with when too much was read.
    local function look(key, last)
        for seq = from, last do
            local got = call('HMGET', key, 'q:' .. format('%d', seq), 'a:' .. format('%d', seq))
            local row, answer = got[1] or '', got[2] or ''
            bytes, rows = bytes + #row + #answer, rows + 1
            if holds(records.query_of(row), text, escaped)
                or (answer ~= '' and holds(sub(answer, 2, find(answer, '\n', 1, true) - 2), text, escaped)) then
                return seq, row
            end
            if (bytes >= LOOK_BYTES or rows >= LOOK_ROWS) and seq < last then return nil, nil, seq + 1 end
        end
    end

    while true do
        local page = call('ZREVRANGE', mine, rank, rank + PAGE - 1, 'WITHSCORES')
        for i = 1, #page, 2 do
            local topic, score = page[i], format('%.0f', page[i + 1])
            if found >= limit or bytes >= LOOK_BYTES or rows >= LOOK_ROWS then
                out[2] = format('%d', from) .. '.' .. score .. '.' .. topic
                return concat(out, '\n')
            end
            local key = P .. 't:' .. topic
            local own = call('HGET', names, topic)
            local got = call('HMGET', key, 'seq', 'title')
            local seq, row, stop
            rows = rows + 1
            if got[1] then
                if from == 1 and own and holds(own, text, escaped) then
                    seq = 0
                else
                    seq, row, stop = look(key, tonumber(got[1]))
                end
            end
            if stop then
                out[2] = format('%d', stop) .. '.' .. score .. '.' .. topic
                return concat(out, '\n')
            end
            if seq then
                local n, first = #out, got[2] or call('HGET', key, 'q:1')
                if not got[2] then first = records.query_of(first or '') end
                out[n + 1], out[n + 2] = topic, format('%d', seq)
                out[n + 3] = own or records.title_of(first)
                out[n + 4] = row and records.title_of(records.query_of(row)) or '""'
                found = found + 1
            end
            from = 1
        end
        if #page < 2 * PAGE then return concat(out, '\n') end
        rank = rank + PAGE
    end
end

return {find_topics = verb}
