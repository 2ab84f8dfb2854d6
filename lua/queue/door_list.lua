-- door_list: returns a page of a user's chat completions that are stored (queue/kept.lua), in the order of their topics
--   and of the queries there.
-- KEYS: topics:<user> zset, t:<topic>.
-- Wakes: nobody.
-- Bound: REPLY_BYTES, but one completion at least; reads READ_BYTES, where a command counts ROW_BYTES.
-- Lane: slow.  Home: every.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   user      name
--   account   name
--   after     text? 640  place of a query, "<Seq>.<microseconds>.<topic>", which may be gone; from the start without
--   is_back   flag       the last ones first
--   limit     number     completions at most
--   model     name?      "<api>/<model>": only these
--   metadata  text? 64k  lines of y:<seq>: only those that have each of them
-- Replies: replay | ok/place to continue after ('' when there are no more)/n, then after a NUL per completion seven
--   parts: microseconds, topic, Seq, and four as queue/kept.lua puts them
local kept = require('queue/kept')
local bounds = require('turn/bounds')
local order = require('turn/order')
local call = redis.call
local find, format, gmatch, match = string.find, string.format, string.gmatch, string.match
local max, min = math.max, math.min
local READ_BYTES, REPLY_BYTES, ROW_BYTES = bounds.READ_BYTES, bounds.REPLY_BYTES, bounds.ROW_BYTES

local TOPICS, CHUNK = 100, 100

local function has_all(note, metadata)
    for line in gmatch(metadata, '[^\n]+') do
        if not find(note, '\n' .. line .. '\n', 1, true) then return false end
    end
    return true
end

-- The rank of the topic to begin with, and the Seq there after which it begins ('' from its first one on).
local function start_of(mine, after, is_back)
    if after == '' then return is_back and call('ZCARD', mine) - 1 or 0, '' end
    local seq, us, topic = match(after, '^(%d+)%.(%d+)%.(.*)$')
    local rank, is_there = order.rank_after(mine, us, topic)
    if is_back then return rank - 1, is_there and seq or '' end
    return is_there and rank - 1 or rank, is_there and seq or ''
end

-- Puts what is wanted of these queries. Returns the Seq after which the page ends, if it is full.
local function put_chunk(turn, page, wanted, topic, us, from, to, step)
    local key, names = turn.prefix .. 't:' .. topic, {}
    for seq = from, to, step do names[#names + 1] = 'y:' .. seq end
    local notes = call('HMGET', key, unpack(names))
    page.read_bytes = page.read_bytes + ROW_BYTES * (1 + #names / 20)
    for i = 1, #names do
        local seq, note = format('%d', from + (i - 1) * step), notes[i]
        if note and has_all(note, wanted.metadata) then
            local got = call('HMGET', key, 's:' .. seq, 'q:' .. seq)
            local row = got[2] or ''
            page.read_bytes = page.read_bytes + 4 * ROW_BYTES + #row
            local is_wanted = kept.is_of(got[1], got[2], note, wanted.account, wanted.user)
                and (wanted.model == '' or match(row, '^%d+\n%S+ %S+ (%S+)') == wanted.model)
            local bytes = is_wanted and kept.bytes_of(key, seq) or 0
            if page.n > 0 and page.bytes + bytes > REPLY_BYTES then return format('%d', from + (i - 2) * step) end
            if is_wanted then
                for _, part in ipairs({us, topic, seq}) do kept.put_part(page.parts, part) end
                kept.put(turn, page.parts, key, seq, row, note)
                page.n, page.bytes = page.n + 1, page.bytes + bytes + #row + #note
            end
        end
        if page.n == wanted.limit or page.read_bytes > READ_BYTES then return seq end
    end
    return nil
end

local function put_topic(turn, page, wanted, topic, us, after, is_back)
    local last = tonumber(call('HGET', turn.prefix .. 't:' .. topic, 'seq')) or 0
    local step = is_back and -1 or 1
    local from = after == '' and (is_back and last or 1) or min(last + 1, tonumber(after) + step)
    local stop = is_back and 1 or last
    page.read_bytes = page.read_bytes + ROW_BYTES
    while (stop - from) * step >= 0 do
        local to = is_back and max(1, from - CHUNK + 1) or min(last, from + CHUNK - 1)
        local full_at = put_chunk(turn, page, wanted, topic, us, from, to, step)
        if full_at then return full_at end
        from = to + step
    end
    return nil
end

local function verb(turn, a)
    --- arguments
    local mine = turn.prefix .. 'topics:' .. user
    local rank, seq = start_of(mine, after, is_back)
    local wanted = {account = account, user = user, model = model, metadata = metadata, limit = limit}
    local page, next_at = {parts = {''}, n = 0, bytes = 0, read_bytes = 0}, nil
    while rank >= 0 and not next_at do
        local first, last = rank, rank + TOPICS - 1
        if is_back then first, last = max(0, rank - TOPICS + 1), rank end
        local topics = call('ZRANGE', mine, first, last, 'WITHSCORES')
        local n = #topics / 2
        for i = 1, n do
            local at = 2 * (is_back and n - i or i - 1)
            local topic, us = topics[at + 1], order.text_of(topics[at + 2])
            local full_at = put_topic(turn, page, wanted, topic, us, seq, is_back)
            seq = ''
            if full_at then
                next_at = full_at .. '.' .. us .. '.' .. topic
                break
            end
        end
        if n < last - first + 1 then break end
        rank = is_back and first - 1 or last + 1
    end
    bounds.note_read(turn, 0, page.read_bytes)
    page.parts[1] = 'ok\n' .. (next_at or '') .. '\n' .. format('%d', page.n) .. '\n\0'
    return page.parts
end

return {door_list = verb}
