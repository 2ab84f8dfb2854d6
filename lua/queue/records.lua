-- records: the fields of a topic, as text. A topic is one hash t:<topic>:
--   seq          the last Seq
--   q:<seq>      the row, 7 lines: created ms / "account user model weight" (names) / user /
--                model / modifiers / traceparent and request id (shared/queue/row.h) / query (JSON, as clients get
--                them)
--   s:<seq>      its state; absent: Open. "P <lease> <attempt> <holder> <n>": Pending; n: 1, or more
--                when the claim is listed; after it the node that it was handed to, unless it took
--                it itself. "D": Done. "F <reason>" / "C <reason>": Failed, Cancelled (JSON).
--   a:<seq>      the answer, 5 lines: answer / think / model (JSON) / ms / account, and if its engine said so
--                after a space the JSON members FinishReason and Usage. Of a query of a door that Failed: the error
--                that its client gets, if its engine said one (JSON)
--   m:<seq>      the lease of its last claim by an engine of other models, which served it as `default`
--   w:<seq>      ids of the nodes waiting for it
--   l:<lease>    the Seqs of a claim that took more than one, or one that more than LOOKBACK rows came after, ' '
--   k:<seq>      how many claims of it have ended without an answer; absent: none
--   d:<seq>      the node that shows its pieces before it stores them, while it is Pending
--   f:<seq>      what its engine said of the answer in partial answers (queue/facts.lua), while it is Pending
--   r:<seq>      of a query of a door: its client's request (queue/requests.lua)
--   e:<seq>, o:<seq>  whether another engine may continue its answer (queue/continuing.lua)
--   x:<seq>      of a query of a door: whose client waits for it (queue/doors.lua)
--   y:<seq>, v:<seq>  of a chat completion that is kept (queue/kept.lua)
--   c:<lease>    the Seqs of a claim that were cancelled under it, ','
--   u:<user>     that user's tie to the topic
--   places, p:<seq>, n:<seq>  which queries took the place of earlier ones (queue/places.lua)
--   open         the Open queries by Seq (queue/open_list.lua)
local bounds = require('turn/bounds')
local call = redis.call
local byte, find, match, sub = string.byte, string.find, string.match, string.sub

local TITLE_CHARS = 200     -- of a topic's name in lists

-- Returns what is left of `text` after its first `n` lines; '' when it has no more. Walks from newline to newline: a
-- pattern without an anchor would try again at each byte of a line that a client made long.
local function after_lines(text, n)
    local at = 0
    for _ = 1, n do
        at = find(text, '\n', at + 1, true)
        if not at then return '' end
    end
    return sub(text, at + 1)
end

-- The query (JSON) of a row: its 7th line.
local function query_of(row)
    return after_lines(row, 6)
end

-- Whose query a row is, as a name; '%' where it was blanked with the data of its user (topic/blank.lua).
local function user_of(row)
    return match(row, '^%d+\n%S+ (%S+) ')
end

-- A text (JSON), cut to TITLE_CHARS characters: never within one, be it UTF-8 or an escape.
local function title_of(text)
    if #text <= TITLE_CHARS + 2 then return text end
    local head = sub(text, 1, TITLE_CHARS + 1)
    if not find(head, '[\\\128-\255]') then return head .. '"' end
    local at, last = 2, #text - 1
    for _ = 1, TITLE_CHARS do
        local c, step = byte(text, at), 1
        if at > last then return text end
        if c == 92 then
            step = byte(text, at + 1) == 117 and 6 or 2
            if step == 6 and find(text, '^\\u[dD][89abAB]..\\u', at) then step = 12 end -- two halves of one
        elseif c >= 240 then step = 4
        elseif c >= 224 then step = 3
        elseif c >= 192 then step = 2 end
        at = at + step
    end
    return at > last and text or sub(text, 1, at - 1) .. '"'
end

-- An answer ("answer\nthink\nmodel") whose engine did not say its model, of a query that it served as `default`.
local function as_default(answer)
    return sub(answer, -5) == '\nnull' and sub(answer, 1, -5) .. '"default"' or answer
end

-- Is that the answer which a:<seq> holds? Whether it was stored as of `default` is no difference. Returns how many
-- bytes it has there, nil when it is another one.
local function answer_bytes(stored, answer)
    if sub(stored, 1, #answer + 1) == answer .. '\n' then return #answer end
    answer = as_default(answer)
    return sub(stored, 1, #answer + 1) == answer .. '\n' and #answer or nil
end

local function parse_pending(state)
    if not state or byte(state) ~= 80 then return nil end
    local lease, attempt, holder, n, to = match(state, '^P (%d+) (%d+) (%S+) (%d+) ?(%S*)$')
    return lease, tonumber(attempt), holder, tonumber(n), to
end

-- Returns the lease of a Pending state, who holds it and n; nil for any other.
local function claim_of(state)
    if not state or byte(state) ~= 80 then return nil end
    local lease, holder, n = match(state, '^P (%d+) %d+ (%S+) (%d+)')
    return lease, holder, tonumber(n)
end

-- Counts claims of these Seqs (a thousand at most) that end without an answer.
local function count_ended(turn, topic, seqs)
    local key = turn.prefix .. 't:' .. topic
    local of_claim = {}
    bounds.note_read(turn, #seqs, 0)
    for i = 1, #seqs do
        call('HINCRBY', key, 'k:' .. seqs[i], 1)
        local n = #of_claim
        of_claim[n + 1], of_claim[n + 2], of_claim[n + 3] = 'd:' .. seqs[i], 'f:' .. seqs[i], 'e:' .. seqs[i]
    end
    if #seqs > 0 then call('HDEL', key, unpack(of_claim)) end
end

-- The number of a query's claim, from 1; while there is none, that of the last one. `ended`: its field k:<seq>.
local function claim_number(state, ended)
    local first, n = state and byte(state), tonumber(ended) or 0
    return (first == 80 or first == 68) and n + 1 or n
end

-- A Pending state. `to`: the node that the claim was handed to, '' if it took it itself.
local function pending(lease, attempt, holder, n, to)
    local state = 'P ' .. lease .. ' ' .. attempt .. ' ' .. holder .. ' ' .. n
    return to == '' and state or state .. ' ' .. to
end

-- `to` of a claim for one of the entries of queue/idle.lua.
local function handed_to(turn, entry)
    return entry.node == turn.node and '' or entry.node
end

-- Is the topic there, and has the user a tie to it? '': of anybody.
local function has_tie(turn, topic, user)
    local got = call('HMGET', turn.prefix .. 't:' .. topic, 'seq', 'u:' .. user)
    return got[1] and (user == '' or got[2])
end

return {
    after_lines = after_lines, query_of = query_of, user_of = user_of, title_of = title_of,
    parse_pending = parse_pending, claim_of = claim_of,
    count_ended = count_ended, claim_number = claim_number, pending = pending, handed_to = handed_to, has_tie = has_tie,
    as_default = as_default, answer_bytes = answer_bytes,
}
