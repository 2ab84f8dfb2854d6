-- thread: returns a page of a topic's queries with their outcomes, ascending: each in the place where it or what it
--   replaced was asked (queue/places.lua). In cursors a Seq is a place.
-- KEYS: t:<topic>.
-- Wakes: nobody.
-- Bound: REPLY_BYTES, but one query at least; THREAD_PAGE queries.
-- Lane: slow.  Home: topic.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic   name
--   user    name?     must have a tie to the topic
--   after   text? 20  Seq: only later ones, the oldest first; none with `before`
--   before  text? 20  Seq of a query: only those in earlier places, a page of the newest; none with `after`
--   limit   number?   queries at most; THREAD_PAGE without
--   is_whole  flag      queries that were replaced, too: each in its own place
-- Replies: missing | replay | ok/after for the next page ('' when there is none), then per query its Seq and 13 lines
--   as in queue/outcomes.lua (status Open and Pending too)
local facts_of = require('queue/facts')
local outcomes = require('queue/outcomes')
local places = require('queue/places')
local bounds = require('turn/bounds')
local hashes = require('turn/hashes')
local parts = require('turn/parts')
local call = redis.call
local byte = string.byte
local max, min = math.max, math.min
local REPLY_BYTES, THREAD_PAGE = bounds.REPLY_BYTES, bounds.THREAD_PAGE

local CHUNK = 100

-- Returns the Seqs that the places from `first` to `last` show; false for a place that shows nothing.
local function shown_in(key, first, last, step, has_places)
    local seqs = {}
    for seq = first, last, step do seqs[#seqs + 1] = seq end
    return has_places and places.shown_at(key, seqs) or seqs
end

-- The last place of a page that begins at `from` and goes to `to` at most, up or down.
local function page_end(key, from, to, step, n, has_places)
    local bytes, at, seen, looked = 0, from, 0, 0
    while (to - at) * step >= 0 do
        local names = {}
        local stop = at + step * min(CHUNK - 1, (to - at) * step)
        local shown = shown_in(key, at, stop, step, has_places)
        for i = 1, #shown do names[i] = 's:' .. (shown[i] or at) end
        local states = call('HMGET', key, unpack(names))
        for i = 1, #shown do
            local seq, state = shown[i], states[i] or ''
            if seq then
                bytes = bytes + #state + hashes.bytes_of(key, 'q:' .. seq)
                if byte(state) == 68 then bytes = bytes + hashes.bytes_of(key, 'a:' .. seq) end
                seen = seen + 1
            end
            looked = looked + 1
            local is_full = seen > 1 and (seen > n or bytes > REPLY_BYTES)
            if is_full or looked > THREAD_PAGE then return at + (i - 2) * step end
        end
        at = stop + step
    end
    return to
end

local function put_queries(text, key, from, to, has_places)
    for at = from, to, CHUNK do
        local names, shown = {}, shown_in(key, at, min(at + CHUNK - 1, to), 1, has_places)
        for _, seq in ipairs(shown) do
            for _, letter in ipairs({'q:', 's:', 'a:', 'f:'}) do names[#names + 1] = letter .. (seq or at) end
        end
        local values = call('HMGET', key, unpack(names))
        for n, seq in ipairs(shown) do
            if seq then
                local i = (n - 1) * 4
                local row, state, answer = values[i + 1], values[i + 2], values[i + 3]
                local first = state and byte(state)
                text[#text + 1] = '\n' .. seq .. '\n'
                if first and first ~= 80 then
                    parts.put(text, outcomes.as_text(row, state, answer))
                else
                    local said = facts_of.as_line(values[i + 4])
                    parts.put(text, {first and 'Pending\n' or 'Open\n', row, '\n\n\n\n\n' .. said})
                end
            end
        end
    end
end

local function verb(turn, a)
    --- arguments
    local key = turn.prefix .. 't:' .. topic
    local got = call('HMGET', key, 'seq', 'u:' .. user, 'places', 'p:' .. before)
    if not got[1] or (user ~= '' and not got[2]) then return 'missing' end
    local last, n, text = tonumber(got[1]), min(limit or THREAD_PAGE, THREAD_PAGE), {'ok\n'}
    local from, has_places = 1, got[3] and not is_whole
    if before ~= '' then
        last = min(last, tonumber(got[4] or before) - 1)
        if last > 0 then from = page_end(key, last, 1, -1, n, has_places) end
    else
        from = tonumber(after) + 1
        local to = from <= last and page_end(key, from, last, 1, n, has_places) or last
        if to < last then text[1] = 'ok\n' .. to end
        last = to
    end
    bounds.note_read(turn, (has_places and 4 or 2) * max(0, last - from + 1), 0) -- to see how much it is
    put_queries(text, key, from, last, has_places)
    return text
end

return {thread = verb}
