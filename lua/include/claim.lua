-- claim: rows, their states, and how they pass between Open and Pending.
--
-- A topic is one hash t:<topic>:
--   seq          the last Seq
--   q:<seq>      the row, 7 lines: created ms / "account user model weight" (names) / user /
--                model / modifiers / traceparent / query (JSON, as clients get them)
--   s:<seq>      its state; absent: Open. "P <lease> <attempt> <holder> <n>": Pending, n: queries
--                in that claim; behind it the node that it was handed to, unless it took it itself. "D": Done. "F <reason>" / "C <reason>": Failed, Cancelled (JSON).
--   a:<seq>      the answer, 5 lines: answer / think / model (JSON) / ms / account
--   w:<seq>      ids of the nodes that wait for it
--   l:<lease>    the Seqs of a claim that took more than one
--   c:<lease>    the Seqs of a claim that were cancelled under it, ','
--   u:<user>     that user's tie to the topic
--   open         the Open queries: "<seq> <attempts> <model> <user> <account> <weight>;"...
-- The zset leases ("<lease> <topic>" -> deadline ms) is the index of running claims.
-- A claim as text: class / topic / lease / attempt / n, then per query its Seq and 7 row lines.

local function parse_pending(state)
    if not state or byte(state) ~= 80 then return nil end
    local lease, attempt, holder, n, to = match(state, '^P (%d+) (%d+) (%S+) (%d+) ?(%S*)$')
    return lease, tonumber(attempt), holder, tonumber(n), to
end

-- The end of a Pending state: the node that a claim was handed to, if it is another one.
local function handed_to(entry)
    return entry.node == node and '' or ' ' .. entry.node
end

local function open_item(seq, attempts, model, user, account, weight)
    return seq .. ' ' .. attempts .. ' ' .. model .. ' ' .. user .. ' ' .. account .. ' '
        .. weight .. ';'
end

-- Starts a lease over `n` queries. It begins as a delivery lease: the node that writes the claim to
-- its engine extends it (queue/delivered.lua), so a claim that dies on the way costs 2 s, not
-- a whole lease, and no attempt: half a millisecond in its deadline tells reap that no engine had it.
local function start_lease(topic)
    local lease = next_lease()
    lease_new[#lease_new + 1] = now_ms + delivery_ms + 0.5
    lease_new[#lease_new + 1] = lease .. ' ' .. topic
    return lease
end

local function end_lease(lease, topic)
    lease_gone[#lease_gone + 1] = lease .. ' ' .. topic
end

-- Marks all Open queries of `topic` that the class takes as Pending and returns the claim as text, or
-- nil when there is none. `turn_of` {model, user, vt}: whose turn pays for it.
local function claim_topic(topic, entry, turn_of)
    local key = P .. 't:' .. topic
    local open = call('HGET', key, 'open')
    if not open or open == '' then return nil end
    local seqs, rows, rest, attempt, weight = {}, {}, '', 0, 1
    local taken, states = {}, {}
    for item in gmatch(open, '[^;]+') do
        local seq, attempts, model, user, account, w = match(item, '^(%d+) (%d+) (%S+) (%S+) (%S+) (%S+)$')
        if takes_model(entry.models, model) then
            seqs[#seqs + 1] = seq
            rows[#rows + 1] = 'q:' .. seq
            states[#states + 1] = tonumber(attempts) + 1
            attempt = max(attempt, states[#states])
            taken[model .. ' ' .. user] = {model, user}
            if turn_of and model == turn_of[1] and user == turn_of[2] then weight = tonumber(w) end
            count_open(account, user, -1)
        else
            rest = rest .. item .. ';'
        end
    end
    if #seqs == 0 then return nil end
    rows = call('HMGET', key, unpack(rows))
    local lease = start_lease(topic)
    local set = {'open', rest}
    local text = {entry.account .. '|' .. entry.models, topic, lease, attempt, #seqs}
    for i = 1, #seqs do
        set[#set + 1] = 's:' .. seqs[i]
        set[#set + 1] = 'P ' .. lease .. ' ' .. states[i] .. ' ' .. entry.account .. ' ' .. #seqs
            .. handed_to(entry)
        text[#text + 1] = seqs[i]
        text[#text + 1] = rows[i]
    end
    if #seqs > 1 then
        set[#set + 1] = 'l:' .. lease
        set[#set + 1] = concat(seqs, ' ')
    end
    call('HSET', key, unpack(set))
    for _, pair in pairs(taken) do
        local has_more = dequeue(pair[1], pair[2], topic)
        if turn_of and pair[1] == turn_of[1] and pair[2] == turn_of[2] then
            charge(pair[1], pair[2], turn_of[3], weight, has_more)
        end
    end
    return concat(text, '\n')
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

-- Hands claims to parked polls while there are both. Called after a verb made work claimable.
local function offer(model)
    while true do
        local entry = take_waiter(model)
        if not entry then return end
        local text = claim_next(entry)
        if not text then
            add_credit(entry, 1)
            return
        end
        send_event(entry.node, 'claim\n' .. text)
    end
end

-- Puts Pending (or Failed) rows back to Open, at the front. `attempts` per Seq: how many claims
-- they have used up. The caller has ended the lease.
local function reopen(topic, seqs, attempts)
    local key = P .. 't:' .. topic
    local open = call('HGET', key, 'open') or ''
    local models, gone, front = {}, {}, ''
    for i = 1, #seqs do
        local row = call('HGET', key, 'q:' .. seqs[i])
        local ms, account, user, model, weight = match(row, '^(%d+)\n(%S+) (%S+) (%S+) (%S+)\n')
        front = front .. open_item(seqs[i], attempts[i], model, user, account, weight)
        gone[#gone + 1] = 's:' .. seqs[i]
        count_open(account, user, 1)
        enqueue(model, user, topic, tonumber(ms) * 1000, true)
        models[model] = true
    end
    call('HSET', key, 'open', front .. open)
    call('HDEL', key, unpack(gone))
    for model in pairs(models) do offer(model) end
end

-- The Seqs that a lease still holds in a topic, with their attempts.
local function held_by(topic, lease)
    local key = P .. 't:' .. topic
    local listed = call('HGET', key, 'l:' .. lease)
    local seqs, attempts = {}, {}
    local function look(seq, state)
        local holding, attempt = parse_pending(state)
        if holding == lease then
            seqs[#seqs + 1] = seq
            attempts[#attempts + 1] = attempt
        end
    end
    if listed then
        for seq in gmatch(listed, '%d+') do look(seq, call('HGET', key, 's:' .. seq)) end
        return seqs, attempts
    end
    -- A claim of one query is not listed: find it from the newest row backwards.
    local last = tonumber(call('HGET', key, 'seq')) or 0
    for seq = last, max(1, last - 9999), -1 do
        look(format('%d', seq), call('HGET', key, 's:' .. seq))
        if #seqs > 0 then break end
    end
    return seqs, attempts
end
