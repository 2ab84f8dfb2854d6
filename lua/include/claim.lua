-- claim: rows, their states, and how they pass between Open and Pending.
--
-- A topic is one hash t:<topic>:
--   seq          the last Seq
--   q:<seq>      the row, 7 lines: created ms / "account user model weight" (names) / user /
--                model / modifiers / traceparent / query (JSON, as clients get them)
--   s:<seq>      its state; absent: Open. "P <lease> <attempt> <holder> <n>": Pending; n: 1, or more
--                when the claim is listed; behind it the node that it was handed to, unless it took
--                it itself. "D": Done. "F <reason>" / "C <reason>": Failed, Cancelled (JSON).
--   a:<seq>      the answer, 5 lines: answer / think / model (JSON) / ms / account
--   w:<seq>      ids of the nodes that wait for it
--   l:<lease>    the Seqs of a claim that took more than one, or one far behind the newest, ' '
--   c:<lease>    the Seqs of a claim that were cancelled under it, ','
--   u:<user>     that user's tie to the topic
--   open         the Open queries by Seq: "<seq> <attempts> <model> <user> <account> <weight>;"...
-- The zset leases ("<lease> <topic>" -> deadline ms) is the index of running claims.
-- A claim as text: class / topic / lease / attempt / n, then per query its Seq and 7 row lines.

local CLAIM_MAX = 1000 -- queries of a claim, of REPLY_BYTES but one at least; the rest is the next claim's
local LOOK_BACK = 100  -- a claim of one query older than that is listed: searching would take long
local STATES = 500     -- states read with one call

local function parse_pending(state)
    if not state or byte(state) ~= 80 then return nil end
    local lease, attempt, holder, n, to = match(state, '^P (%d+) (%d+) (%S+) (%d+) ?(%S*)$')
    return lease, tonumber(attempt), holder, tonumber(n), to
end

-- The end of a Pending state: the node that a claim was handed to, if it is another one.
local function handed_to(entry)
    return entry.node == node and '' or ' ' .. entry.node
end

-- Lists the claim of one query that falls out of LOOK_BACK with a topic's new row `seq`: whatever is added to a topic,
-- a claim is found without a search through all that came later.
local function list_passed(key, seq)
    local passed = format('%d', seq - LOOK_BACK - 1)
    local lease, attempt, by, n, to = parse_pending(call('HGET', key, 's:' .. passed))
    if n ~= 1 then return end
    to = to ~= '' and ' ' .. to or ''
    call('HSET', key, 'l:' .. lease, passed, 's:' .. passed, 'P ' .. lease .. ' ' .. attempt .. ' ' .. by .. ' 2' .. to)
end

-- Starts a lease over `n` queries. It begins as a delivery lease: the node that writes the claim to
-- its engine extends it (queue/delivered.lua), so a claim that dies on the way costs 2 s, not
-- a whole lease, and no attempt: its odd deadline tells reap that no engine had it.
local function start_lease(topic)
    local lease = next_lease()
    lease_new[#lease_new + 1] = delivery_end_text
    lease_new[#lease_new + 1] = lease .. ' ' .. topic
    lease_known[lease] = true
    return lease
end

local function end_lease(lease, topic)
    lease_gone[#lease_gone + 1] = lease .. ' ' .. topic
    lease_known[lease] = false
end

local claim_topic
do
    -- Of a claim that is full: notes in `left` who of those that it took from has more, and puts what stays behind into
    -- `rest`. Returns how far it looked.
    local function note_left(open, at, taken, left, rest)
        local unknown = 0
        rest[#rest + 1] = sub(open, at)
        for name in pairs(taken) do
            if not left[name] then unknown = unknown + 1 end
        end
        while unknown > 0 do
            local last, _, _, model, user = open_at(open, at)
            if not last then break end
            local name = model .. ' ' .. user
            if taken[name] and not left[name] then left[name], unknown = true, unknown - 1 end
            at = last + 1
        end
        return at
    end

    -- Marks all Open queries of `topic` that the class takes as Pending and returns the claim as text, or
    -- nil when there is none. `turn_of` {model, user, vt}: whose turn pays for it.
    claim_topic = function(topic, entry, turn_of)
        local key = P .. 't:' .. topic
        local got = call('HMGET', key, 'open', 'seq')
        local open = got[1]
        if not open or open == '' then return nil end
        local seqs, rows, rest, attempt, weight = {}, {}, {}, 0, 1
        local taken, left, states = {}, {}, {}
        local bytes = nil -- of the rows so far; one alone is taken whatever its size
        local is_full = false
        local function fits(seq)
            if #seqs == 0 then return true end
            bytes = (bytes or bytes_of(key, rows[1])) + bytes_of(key, 'q:' .. seq)
            is_full = bytes > REPLY_BYTES
            return not is_full
        end
        local at = 1
        while not is_full do
            local last, seq, attempts, model, user, account, w = open_at(open, at)
            if not last then break end
            if takes_model(entry.models, model) and fits(seq) then
                seqs[#seqs + 1] = seq
                rows[#rows + 1] = 'q:' .. seq
                states[#states + 1] = tonumber(attempts) + 1
                attempt = max(attempt, states[#states])
                taken[model .. ' ' .. user] = {model, user}
                if model == turn_of[1] and user == turn_of[2] then weight = tonumber(w) end
                count_open(account, user, model, -1)
                is_full = #seqs == CLAIM_MAX
            else
                rest[#rest + 1] = sub(open, at, last)
                left[model .. ' ' .. user] = true
            end
            at = last + 1
        end
        if #seqs > 0 then at = note_left(open, at, taken, left, rest) end
        looks = looks + floor(at / 24) -- about so many bytes is one
        if #seqs == 0 then return nil end
        rows = call('HMGET', key, unpack(rows))
        local lease = start_lease(topic)
        local n = #seqs
        if n == 1 and tonumber(seqs[1]) < got[2] - LOOK_BACK then n = 2 end
        local set = {'open', concat(rest)}
        local text = {entry.account .. '|' .. entry.models, topic, lease, attempt, #seqs}
        for i = 1, #seqs do
            set[#set + 1] = 's:' .. seqs[i]
            set[#set + 1] = 'P ' .. lease .. ' ' .. states[i] .. ' ' .. entry.account .. ' ' .. n
                .. handed_to(entry)
            text[#text + 1] = seqs[i]
            text[#text + 1] = rows[i]
        end
        if n > 1 then
            set[#set + 1] = 'l:' .. lease
            set[#set + 1] = concat(seqs, ' ')
        end
        call('HSET', key, unpack(set))
        local payer = turn_of[1] .. ' ' .. turn_of[2]
        local has_more = true
        for name, pair in pairs(taken) do
            local more = left[name] or dequeue(pair[1], pair[2], topic)
            if name == payer then has_more = more end
        end
        if taken[payer] then charge(turn_of[1], turn_of[2], turn_of[3], weight, has_more) end
        return concat(text, '\n')
    end
end

-- The claim whose turn it is, for an engine of that class; nil when there is no work.
local function claim_next(entry)
    while true do
        local topic, model, user, vt = next_topic(entry.models)
        if not topic then return nil end
        local text = claim_topic(topic, entry, {model, user, vt})
        if text then return text end
        dequeue(model, user, topic) -- a stale entry: nothing Open is left there
    end
end

-- Hands claims to parked polls while there are both. Called after a verb made work claimable. What comes after
-- LOOK_BYTES or LOOKS_MAX a turn, the nodes' next sync hands over.
local function offer(model)
    while offered_bytes < LOOK_BYTES and looks < LOOKS_MAX do
        local entry = take_waiter(model)
        if not entry then return end
        local text = claim_next(entry)
        if not text then
            add_credit(entry, 1)
            return
        end
        offered_bytes = offered_bytes + #text
        send_event(entry.node, 'claim\n' .. text)
    end
end

local reopen
do
    -- Puts items in their places: {seq (number), text} each, sorted.
    local function put_in_place(open, items)
        local parts, at = {}, 1
        for i = 1, #items do
            local to = open_after(open, items[i][1], at)
            if to > at then parts[#parts + 1] = sub(open, at, to - 1) end
            parts[#parts + 1], at = items[i][2], to
        end
        parts[#parts + 1] = sub(open, at)
        return concat(parts)
    end

    -- Puts Pending (or Failed) rows back to Open, in their place by Seq and served next. `attempts` per Seq:
    -- how many claims they have used up. The caller has ended the lease.
    reopen = function(topic, seqs, attempts)
        local key = P .. 't:' .. topic
        local fields, gone, items, oldest, models = {'open'}, {}, {}, {}, {}
        for i = 1, #seqs do
            fields[i + 1] = 'q:' .. seqs[i]
            gone[i] = 's:' .. seqs[i]
        end
        local got = call('HMGET', key, unpack(fields))
        for i = 1, #seqs do
            local ms, account, user, model, weight = match(got[i + 1], '^(%d+)\n(%S+) (%S+) (%S+) (%S+)\n')
            items[i] = {tonumber(seqs[i]), open_item(seqs[i], attempts[i], model, user, account, weight)}
            count_open(account, user, model, 1)
            local name = model .. ' ' .. user
            oldest[name] = oldest[name] or {model, user, tonumber(ms)}
            oldest[name][3] = min(oldest[name][3], tonumber(ms))
            models[model] = true
        end
        for _, one in pairs(oldest) do enqueue(one[1], one[2], topic, one[3] * 1000, true) end
        sort(items, function(x, y) return x[1] < y[1] end)
        call('HSET', key, 'open', put_in_place(got[1] or '', items))
        call('HDEL', key, unpack(gone))
        for model in pairs(models) do offer(model) end
    end
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
local function held_by(topic, lease, holder)
    local key = P .. 't:' .. topic
    local got = call('HMGET', key, 'l:' .. lease, 'seq')
    local seqs, attempts, list, found = {}, {}, {}, nil
    local function look(seq, state)
        local holding, attempt, by, n, to = parse_pending(state)
        if holding ~= lease then return end
        to = to ~= '' and ' ' .. to or ''
        found = {seq, 'P ' .. lease .. ' ' .. attempt .. ' ' .. by .. ' ' .. max(2, n) .. to}
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
    local lives = lease_known[lease]
    if lives == nil then lives = call('ZSCORE', P .. 'leases', lease .. ' ' .. topic) end
    local last, step = lives and tonumber(got[2]) or 0, 8
    while last > 0 and not found do
        list = {}
        for seq = last, max(1, last - step + 1), -1 do list[#list + 1] = format('%d', seq) end
        each_state(key, list, look)
        last, step = last - step, min(step * 4, STATES)
    end
    local list_from = 1000 -- a node of an earlier version has left it unlisted
    if found and got[2] - found[1] > list_from then
        call('HSET', key, 'l:' .. lease, found[1], 's:' .. found[1], found[2])
    end
    return seqs, attempts
end
