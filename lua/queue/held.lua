-- held: which queries a lease holds, and which one of them has a given text.
local leases = require('queue/leases')
local records = require('queue/records')
local bounds = require('turn/bounds')
local hashes = require('turn/hashes')
local call = redis.call
local byte, find, format, gmatch = string.byte, string.find, string.format, string.gmatch
local match, reverse, sub = string.match, string.reverse, string.sub
local max, min = math.max, math.min
local LOOK_BYTES = bounds.LOOK_BYTES

local LOOK_BACK = 100  -- a claim of one query older than that is listed: searching would take long
local LIST_FROM = 1000 -- one that a node of an earlier version left unlisted is listed when it is found
local STATES = 500     -- states read with one call
local SEQ_MOST_BYTES = 20

-- Lists the claim of one query that falls out of LOOK_BACK with a topic's new row `seq`: whatever is added to a topic,
-- a claim is found without a search through all that came later.
local function list_passed(key, seq)
    local passed = format('%d', seq - LOOK_BACK - 1)
    local lease, attempt, by, n, to = records.parse_pending(call('HGET', key, 's:' .. passed))
    if n ~= 1 then return end
    call('HSET', key, 'l:' .. lease, passed, 's:' .. passed, records.pending(lease, attempt, by, 2, to))
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

-- The Seqs that a lease still holds in a topic, with their attempts. A claim that is not listed holds
-- one of the newest rows (LOOK_BACK): searched from the newest backwards, and only while the lease lives. With
-- `holder` only what that account holds under it: numbers can be guessed, so a lease alone proves nothing.
local function held_by(turn, topic, lease, holder)
    local P = turn.prefix
    local key = P .. 't:' .. topic
    local got = call('HMGET', key, 'l:' .. lease, 'seq')
    local seqs, attempts, list, found = {}, {}, {}, nil
    local function look(seq, state)
        local holding, attempt, by, n, to = records.parse_pending(state)
        if holding ~= lease then return end
        found = {seq, attempt, by, n, to}
        if not holder or by == holder then
            seqs[#seqs + 1] = seq
            attempts[#attempts + 1] = attempt
        end
    end
    if got[1] then
        for seq in gmatch(got[1], '%d+') do list[#list + 1] = seq end
        each_state(key, list, look)
        return seqs, attempts
    end
    local lives = leases.known(turn, lease)
    if lives == nil then lives = call('ZSCORE', P .. 'leases', lease .. ' ' .. topic) end
    local last, step = lives and tonumber(got[2]) or 0, 8
    while last > 0 and not found do
        list = {}
        for seq = last, max(1, last - step + 1), -1 do list[#list + 1] = format('%d', seq) end
        each_state(key, list, look)
        last, step = last - step, min(step * 4, STATES)
    end
    if found and got[2] - found[1] > LIST_FROM then
        local seq, attempt, by, n, to = unpack(found)
        call('HSET', key, 'l:' .. lease, seq, 's:' .. seq, records.pending(lease, attempt, by, max(2, n), to))
    end
    return seqs, attempts
end

-- Does a listed lease still hold the last one of its queries?
local function holds_last(turn, topic, lease)
    local key = turn.prefix .. 't:' .. topic
    local list = call('HGET', key, 'l:' .. lease)
    local last = list and reverse(match(reverse(sub(list, -SEQ_MOST_BYTES)), '^%d+'))
    return last and records.parse_pending(call('HGET', key, 's:' .. last)) == lease
end

local TEXT_LOOK_BACK = 10000

-- Does a row end with that query? Looks in place: every string that is made costs a hash of all its bytes.
local function ends_with(row, query)
    local at = #row - #query + 1
    return at > 1 and byte(row, at - 1) == 10 and find(row, query, at, true) ~= nil
end

-- The lowest Seq that `holder` holds with that very text, among the newest rows. Without one, and with
-- an answer given, the Seq with that text that has this very answer already.
local function find_held_text(turn, topic, holder, query, answer)
    local key = turn.prefix .. 't:' .. topic
    local last = tonumber(call('HGET', key, 'seq')) or 0
    local list, found, answered = {}, nil, nil
    local left = {held = LOOK_BYTES, done = LOOK_BYTES} -- to be read, of rows that it holds and of ended ones
    local function has_text(seq, kind)
        left[kind] = left[kind] - hashes.bytes_of(key, 'q:' .. seq)
        return left[kind] >= 0 and ends_with(call('HGET', key, 'q:' .. seq), query)
    end
    local function has_answer(seq)
        left.done = left.done - hashes.bytes_of(key, 'a:' .. seq)
        return left.done >= 0 and sub(call('HGET', key, 'a:' .. seq), 1, #answer + 1) == answer .. '\n'
    end
    for seq = max(1, last - TEXT_LOOK_BACK + 1), last do list[#list + 1] = format('%d', seq) end
    each_state(key, list, function(seq, state)
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
    LOOK_BACK = LOOK_BACK, list_passed = list_passed, held_by = held_by, holds_last = holds_last, ends_with = ends_with,
    find_held_text = find_held_text,
}
