-- claims: how queries pass from Open to Pending and back.
-- A claim as text: class / topic / lease / attempt / n, then per query its Seq and 7 row lines.
local fair = require('queue/fair')
local held = require('queue/held')
local idle = require('queue/idle')
local leases = require('queue/leases')
local records = require('queue/records')
local shares = require('queue/shares')
local bounds = require('turn/bounds')
local events = require('turn/events')
local hashes = require('turn/hashes')
local call = redis.call
local gmatch, match = string.gmatch, string.match
local concat, sort = table.concat, table.sort
local floor, max = math.floor, math.max
local LOOK_BACK = held.LOOK_BACK
local LOOKS_MAX = idle.LOOKS_MAX
local LOOK_BYTES, REPLY_BYTES = bounds.LOOK_BYTES, bounds.REPLY_BYTES

local CLAIM_MAX = 1000 -- queries of a claim, of REPLY_BYTES but one at least; the rest is the next claim's

-- Marks all Open queries of `topic` that the class takes as Pending and returns the claim as text, or
-- nil when there is none. `turn_of` {model, user, vt}: whose turn pays for it.
local function claim_topic(turn, topic, entry, turn_of)
    local key = turn.prefix .. 't:' .. topic
    local got = call('HMGET', key, 'open', 'seq')
    local open = got[1]
    if not open or open == '' then return nil end
    turn.looks = turn.looks + floor(#open / 24) -- about so many bytes is one
    local seqs, rows, rest, attempt, weight = {}, {}, {}, 0, 1
    local taken, left, states = {}, {}, {}
    local bytes = nil -- of the rows so far; one alone is taken whatever its size
    local function fits(seq)
        if #seqs == 0 then return true end
        if #seqs >= CLAIM_MAX or (bytes and bytes > REPLY_BYTES) then return false end
        bytes = (bytes or hashes.bytes_of(key, rows[1])) + hashes.bytes_of(key, 'q:' .. seq)
        return bytes <= REPLY_BYTES
    end
    for item in gmatch(open, '[^;]+') do
        local seq, attempts, model, user, account, w = match(item, '^(%d+) (%d+) (%S+) (%S+) (%S+) (%S+)$')
        if idle.takes_model(entry.models, model) and fits(seq) then
            seqs[#seqs + 1] = seq
            rows[#rows + 1] = 'q:' .. seq
            states[#states + 1] = tonumber(attempts) + 1
            attempt = max(attempt, states[#states])
            taken[model .. ' ' .. user] = {model, user}
            if model == turn_of[1] and user == turn_of[2] then weight = tonumber(w) end
            shares.count(turn, account, user, model, -1)
        else
            rest[#rest + 1] = item .. ';'
            left[model .. ' ' .. user] = true
        end
    end
    if #seqs == 0 then return nil end
    rows = call('HMGET', key, unpack(rows))
    local lease = leases.start(turn, topic)
    local n = #seqs
    if n == 1 and tonumber(seqs[1]) < got[2] - LOOK_BACK then n = 2 end
    local set = {'open', concat(rest)}
    local text = {entry.account .. '|' .. entry.models, topic, lease, attempt, #seqs}
    for i = 1, #seqs do
        set[#set + 1] = 's:' .. seqs[i]
        set[#set + 1] = 'P ' .. lease .. ' ' .. states[i] .. ' ' .. entry.account .. ' ' .. n
            .. records.handed_to(turn, entry)
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
        local more = left[name] or fair.dequeue(turn, pair[1], pair[2], topic)
        if name == payer then has_more = more end
    end
    if taken[payer] then fair.charge(turn, turn_of[1], turn_of[2], turn_of[3], weight, has_more) end
    return concat(text, '\n')
end

-- The claim whose turn it is, for an engine of that class; nil when there is no work.
local function next_claim(turn, entry)
    while true do
        local topic, model, user, vt = fair.next_topic(turn, entry.models)
        if not topic then return nil end
        local text = claim_topic(turn, topic, entry, {model, user, vt})
        if text then return text end
        fair.dequeue(turn, model, user, topic) -- a stale entry: nothing Open is left there
    end
end

-- Hands claims to parked polls while there are both. Called after a verb made work claimable. What comes after
-- LOOK_BYTES or LOOKS_MAX a turn, the nodes' next sync hands over.
local function offer(turn, model)
    while turn.offered_bytes < LOOK_BYTES and turn.looks < LOOKS_MAX do
        local entry = idle.take_waiter(turn, model)
        if not entry then return end
        local text = next_claim(turn, entry)
        if not text then
            idle.add_credit(entry, 1)
            return
        end
        turn.offered_bytes = turn.offered_bytes + #text
        events.send(turn, entry.node, 'claim\n' .. text)
    end
end

-- Puts Pending (or Failed) rows back to Open, in their place by Seq and served next. `attempts` per Seq:
-- how many claims they have used up. The caller has ended the lease.
local function reopen(turn, topic, seqs, attempts)
    local key = turn.prefix .. 't:' .. topic
    local fields, gone, items, models = {'open'}, {}, {}, {}
    for i = 1, #seqs do
        fields[i + 1] = 'q:' .. seqs[i]
        gone[i] = 's:' .. seqs[i]
    end
    local got = call('HMGET', key, unpack(fields))
    for item in gmatch(got[1] or '', '[^;]+') do
        items[#items + 1] = {tonumber(match(item, '^%d+')), item .. ';'}
    end
    for i = 1, #seqs do
        local ms, account, user, model, weight = match(got[i + 1], '^(%d+)\n(%S+) (%S+) (%S+) (%S+)\n')
        items[#items + 1] = {tonumber(seqs[i]), records.open_item(seqs[i], attempts[i], model, user, account, weight)}
        shares.count(turn, account, user, model, 1)
        fair.enqueue(turn, model, user, topic, tonumber(ms) * 1000, true)
        models[model] = true
    end
    sort(items, function(x, y) return x[1] < y[1] end)
    for i = 1, #items do items[i] = items[i][2] end
    call('HSET', key, 'open', concat(items))
    call('HDEL', key, unpack(gone))
    for model in pairs(models) do offer(turn, model) end
end

return {next_claim = next_claim, offer = offer, reopen = reopen}
