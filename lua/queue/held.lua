-- held: finds the queries that a lease holds, and the one with a given text. Only the state s:<seq> is authoritative;
--   the lease's key, the topic's list of the claim and the order of rows only narrow the search.
local leases = require('queue/leases')
local records = require('queue/records')
local bounds = require('turn/bounds')
local hashes = require('turn/hashes')
local call = redis.call
local byte, find, format, gmatch = string.byte, string.find, string.format, string.gmatch
local match, reverse, sub = string.match, string.reverse, string.sub
local concat = table.concat
local max, min = math.max, math.min
local SCAN_BYTES = bounds.SCAN_BYTES

local LOOKBACK = 100  -- a claim of one query older than that is listed in its topic
local NEWEST = 8       -- rows where one that is not listed is looked for first
local STATES = 500     -- states read with one call
local STATES_AS_COMMAND = 4 -- that cost as much as one command
local SEQ_MOST_BYTES = 20

-- Lists the claim of one query that falls out of LOOKBACK with a topic's new row `seq`: whatever is added to a topic,
-- a claim is found without its key, and without a search through all that came later.
local function list_passed(key, seq)
    local passed = format('%d', seq - LOOKBACK - 1)
    local lease, attempt, by, n, to = records.parse_pending(call('HGET', key, 's:' .. passed))
    if n ~= 1 then return end
    call('HSET', key, 'l:' .. lease, passed, 's:' .. passed, records.pending(lease, attempt, by, 2, to))
end

-- Seqs, of a text by ' '.
local function listed(text)
    local list = {}
    for seq in gmatch(text, '%d+') do list[#list + 1] = seq end
    return list
end

-- The newest n Seqs of a topic whose last one is `last`, the lowest first.
local function newest(last, n)
    local list = {}
    for seq = max(1, last - n + 1), last do list[#list + 1] = format('%d', seq) end
    return list
end

-- Calls visit(seq, state) for these Seqs (text) of a topic's hash, until it returns true.
local function each_state(key, seqs, visit)
    for from = 1, #seqs, STATES do
        local fields = {}
        for i = from, min(from + STATES - 1, #seqs) do fields[#fields + 1] = 's:' .. seqs[i] end
        local states = call('HMGET', key, unpack(fields))
        for i = 1, #fields do
            if visit(seqs[from + i - 1], states[i]) then return end
        end
    end
end

-- The Seqs that a lease still holds in a topic, with their attempts, and the node that the claim was handed to. With
-- `holder` only what that account holds under it: numbers can be guessed, so a lease alone proves nothing. Without its
-- key (it is not confirmed yet, the key expired first, or Redis needed the room) it is looked for in the topic's list;
-- one that is not listed is one of the newest rows, which are read while the lease lives.
local function held_by(turn, topic, lease, holder)
    local key = turn.prefix .. 't:' .. topic
    local seqs, attempts, node = {}, {}, nil
    local function search(list)
        each_state(key, list, function(seq, state)
            local holding, attempt, by, _, to = records.parse_pending(state)
            if holding ~= lease or (holder and by ~= holder) then return end
            seqs[#seqs + 1], attempts[#attempts + 1], node = seq, attempt, to
        end)
    end
    local by, taken = leases.read_key(turn, lease)
    if by and holder and by ~= holder then return seqs, attempts end
    if by then search(listed(taken)) end
    if #seqs > 0 then return seqs, attempts, node end
    local got = call('HMGET', key, 'l:' .. lease, 'seq')
    if got[1] then
        search(listed(got[1]))
    elseif got[2] and leases.lives(turn, lease, topic) then
        for _, n in ipairs({NEWEST, LOOKBACK + 1}) do
            if #seqs == 0 then search(newest(tonumber(got[2]), n)) end
        end
    end
    return seqs, attempts, node
end

-- A sign of life from the engine that holds a lease: the lease starts again, with its key.
local function renew(turn, topic, lease, holder)
    if leases.renew(turn, lease, topic) then return end
    local seqs, attempts, node = held_by(turn, topic, lease, holder)
    if #seqs == 0 then return end -- a row is Pending under a lease that the index has lost: it gets no key either
    node = node == '' and turn.node or node
    leases.write_key(turn, lease, concat({holder, topic, max(unpack(attempts)), node, concat(seqs, ' ')}, ' '))
end

-- Does a listed lease still hold the last one of its queries?
local function holds_last(turn, topic, lease)
    local key = turn.prefix .. 't:' .. topic
    local list = call('HGET', key, 'l:' .. lease)
    local last = list and reverse(match(reverse(sub(list, -SEQ_MOST_BYTES)), '^%d+'))
    return last and records.parse_pending(call('HGET', key, 's:' .. last)) == lease
end

local TEXT_LOOKBACK = 10000

-- Does a row end with that query? Looks in place: every string that is made costs a hash of all its bytes.
local function ends_with(row, query)
    local at = #row - #query + 1
    return at > 1 and byte(row, at - 1) == 10 and find(row, query, at, true) ~= nil
end

-- The lowest Seq that `holder` holds with that very text: under `lease`, if one is named, then among the newest rows.
-- Without one, and with an answer given, the Seq with that text that has this very answer already.
local function find_held_text(turn, topic, lease, holder, query, answer)
    local key = turn.prefix .. 't:' .. topic
    for _, seq in ipairs(lease == '' and {} or held_by(turn, topic, lease, holder)) do -- a claim's bytes are bounded
        local row = call('HGET', key, 'q:' .. seq)
        bounds.note_read(turn, 1, #row)
        if ends_with(row, query) then return seq end
    end
    local last = tonumber(call('HGET', key, 'seq')) or 0
    local found, answered = nil, nil
    local left = {held = SCAN_BYTES, done = SCAN_BYTES} -- to be read, of rows that it holds and of ended ones
    bounds.note_read(turn, min(last, TEXT_LOOKBACK) / STATES_AS_COMMAND, 0)
    local function has_text(seq, kind)
        local bytes = hashes.bytes_of(key, 'q:' .. seq)
        left[kind] = left[kind] - bytes
        bounds.note_read(turn, 2, bytes)
        return left[kind] >= 0 and ends_with(call('HGET', key, 'q:' .. seq), query)
    end
    local function has_answer(seq)
        local bytes = hashes.bytes_of(key, 'a:' .. seq)
        left.done = left.done - bytes
        bounds.note_read(turn, 2, bytes)
        return left.done >= 0 and records.answer_bytes(call('HGET', key, 'a:' .. seq), answer)
    end
    each_state(key, newest(last, TEXT_LOOKBACK), function(seq, state)
        local _, _, by = records.parse_pending(state)
        if by == holder and has_text(seq, 'held') then
            found = seq
        elseif answer and not answered and state and byte(state) == 68 and has_text(seq, 'done')
            and has_answer(seq) then
            answered = seq
        end
        return found
    end)
    return found or answered
end

return {
    LOOKBACK = LOOKBACK, list_passed = list_passed, held_by = held_by, renew = renew, holds_last = holds_last,
    ends_with = ends_with, find_held_text = find_held_text,
}
