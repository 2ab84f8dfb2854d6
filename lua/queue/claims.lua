-- claims: moves queries from Open to Pending and back.
-- A claim as text: `claim` / class / topic / lease / attempt / n, then per query its Seq and 7 row lines; in parts
-- (turn/parts.lua). A query of a door is a claim of its own, whose text ends with its request (queue/requests.lua).
local apis = require('queue/apis')
local continuing = require('queue/continuing')
local fair = require('queue/fair')
local held = require('queue/held')
local hints = require('queue/hints')
local idle = require('queue/idle')
local leases = require('queue/leases')
local open_list = require('queue/open_list')
local records = require('queue/records')
local requests = require('queue/requests')
local shares = require('queue/shares')
local bounds = require('turn/bounds')
local events = require('turn/events')
local hashes = require('turn/hashes')
local parts = require('turn/parts')
local call = redis.call
local format, match, sub = string.format, string.match, string.sub
local concat, sort = table.concat, table.sort
local floor, max, min = math.floor, math.max, math.min
local LOOKBACK = held.LOOKBACK
local SCANS_MAX, QUERIES = idle.SCANS_MAX, idle.QUERIES
local SCAN_BYTES, REPLY_BYTES = bounds.SCAN_BYTES, bounds.REPLY_BYTES

local COMMANDS, ENQUEUE = 6, 8 -- for a query of many, and for each user and model of those that come back
local CLAIM_MAX = 1000 -- queries of a claim, of REPLY_BYTES but one at least; the rest is the next claim's

-- Handles a claim that is full: notes in `left` who of those that it took from has more, and puts what stays behind
-- into `rest`. Returns how far it looked.
local function note_left(open, at, taken, left, rest)
    local unknown = 0
    rest[#rest + 1] = sub(open, at)
    for name in pairs(taken) do
        if not left[name] then unknown = unknown + 1 end
    end
    while unknown > 0 do
        local last, _, _, model, user = open_list.item_at(open, at)
        if not last then break end
        local name = model .. ' ' .. user
        if taken[name] and not left[name] then left[name], unknown = true, unknown - 1 end
        at = last + 1
    end
    return at
end

-- Marks all Open queries of `topic` that the class takes as Pending and returns the claim, or
-- nil when there is none. `turn_of` {model, user, vt}: whose turn pays for it.
local function claim_topic(turn, topic, entry, turn_of)
    local key = turn.prefix .. 't:' .. topic
    local got = call('HMGET', key, 'open', 'seq')
    local open = got[1]
    if not open or open == '' then return nil end
    local seqs, rows, rest, attempt, weight = {}, {}, {}, 0, 1
    local taken, left, states, is_as_default = {}, {}, {}, nil
    local bytes = nil -- of the rows so far; one alone is taken whatever its size
    local at, is_full, has_request = 1, false, false
    while not is_full do
        local last, seq, attempts, model, user, account, w = open_list.item_at(open, at)
        if not last then break end
        local is_taken, is_alone = idle.takes_model(turn, entry.models, model), apis.is_of_api(model)
        if is_taken and is_alone and #seqs > 0 then
            is_taken, is_full = false, true
        elseif is_taken and #seqs > 0 then
            bytes = (bytes or hashes.bytes_of(key, rows[1])) + hashes.bytes_of(key, 'q:' .. seq)
            is_taken, is_full = bytes <= REPLY_BYTES, bytes > REPLY_BYTES
        end
        local name = model .. ' ' .. user
        if is_taken then
            seqs[#seqs + 1] = seq
            rows[#rows + 1] = 'q:' .. seq
            states[#states + 1] = tonumber(attempts) + 1
            attempt = max(attempt, states[#states])
            if model ~= 'default' and not idle.names_model(entry.models, model) then
                is_as_default = is_as_default or {}
                is_as_default[#seqs] = true
            end
            taken[name] = taken[name] or {model, user}
            if model == turn_of[1] and user == turn_of[2] then weight = tonumber(w) end
            shares.count(turn, account, user, model, -1)
            is_full = is_alone or #seqs == CLAIM_MAX
            has_request = is_alone and model
        else
            rest[#rest + 1] = sub(open, at, last)
            left[name] = true
        end
        at = last + 1
    end
    if #seqs > 0 and at <= #open then at = note_left(open, at, taken, left, rest) end
    turn.scans = turn.scans + floor(at / 24) -- about so many bytes is one
    if #seqs == 0 then return nil end
    rows = call('HMGET', key, unpack(rows))
    if #seqs > 1 then bounds.note_read(turn, COMMANDS * #seqs, 0) end
    local n, list = #seqs, concat(seqs, ' ')
    local lease = leases.start(turn, topic)
    if n == 1 and tonumber(seqs[1]) < got[2] - LOOKBACK then n = 2 end
    local set, to = {'open', concat(rest)}, records.handed_to(turn, entry)
    local text = {'claim\n' .. entry.class .. '\n' .. topic .. '\n' .. lease .. '\n' .. attempt .. '\n' .. #seqs}
    for i = 1, #seqs do
        set[#set + 1] = 's:' .. seqs[i]
        set[#set + 1] = records.pending(lease, states[i], entry.account, n, to)
        if is_as_default and is_as_default[i] then set[#set + 1], set[#set + 2] = 'm:' .. seqs[i], lease end
        text[2 * i] = '\n' .. seqs[i] .. '\n'
        text[2 * i + 1] = rows[i]
    end
    if has_request then
        local offset = continuing.claim(turn, topic, seqs[1], has_request, entry.models)
        text[#text + 1] = requests.line_of_stored(turn, key, seqs[1], offset)
    end
    if n > 1 then
        set[#set + 1] = 'l:' .. lease
        set[#set + 1] = list
    end
    call('HSET', key, unpack(set))
    local payer = turn_of[1] .. ' ' .. turn_of[2]
    local has_more = true
    for name, pair in pairs(taken) do
        local more = left[name] or fair.dequeue(turn, pair[1], pair[2], topic)
        if name == payer then has_more = more end
    end
    if taken[payer] then fair.charge(turn, turn_of[1], turn_of[2], turn_of[3], weight, has_more) end
    return text
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
-- SCAN_BYTES or SCANS_MAX a turn, the nodes' next sync hands over.
local function offer(turn, model)
    while turn.offered_bytes < SCAN_BYTES and turn.scans < SCANS_MAX do
        local entry = idle.take_waiter(turn, QUERIES, model)
        if not entry then
            hints.call_for(turn, model, '', 0)
            return
        end
        local text = next_claim(turn, entry)
        if not text then
            idle.put_back(entry)
            return
        end
        local bytes = parts.bytes_of(text)
        turn.offered_bytes = turn.offered_bytes + bytes
        bounds.note_read(turn, 0, bytes)
        events.send(turn, entry.node, text)
    end
end

-- Puts items in their places: {seq (number), text} each, sorted.
local function put_in_place(open, items)
    local pieces, at = {}, 1
    for i = 1, #items do
        local to = open_list.place_after(open, items[i][1], at)
        if to > at then pieces[#pieces + 1] = sub(open, at, to - 1) end
        pieces[#pieces + 1], at = items[i][2], to
    end
    pieces[#pieces + 1] = sub(open, at)
    return concat(pieces)
end

-- Puts Pending (or Failed) rows back to Open, in their place by Seq and served next. `attempts` per Seq:
-- how many claims they have used up. The caller has ended the lease.
local function reopen(turn, topic, seqs, attempts)
    local key = turn.prefix .. 't:' .. topic
    local fields, gone, items, oldest, models = {'open'}, {}, {}, {}, {}
    for i = 1, #seqs do
        fields[i + 1] = 'q:' .. seqs[i]
        gone[i] = 's:' .. seqs[i]
    end
    local got, bytes = call('HMGET', key, unpack(fields)), 0
    for i = 1, #seqs do
        bytes = bytes + #got[i + 1]
        local ms, account, user, model, weight = match(got[i + 1], '^(%d+)\n(%S+) (%S+) (%S+) (%S+)\n')
        items[i] = {tonumber(seqs[i]), open_list.item(seqs[i], attempts[i], model, user, account, weight)}
        shares.count(turn, account, user, model, 1)
        local name = model .. ' ' .. user
        oldest[name] = oldest[name] or {model, user, tonumber(ms)}
        oldest[name][3] = min(oldest[name][3], tonumber(ms))
        models[model] = true
    end
    bounds.note_read(turn, COMMANDS * #seqs, bytes)
    for _, one in pairs(oldest) do
        bounds.note_read(turn, ENQUEUE, 0)
        fair.enqueue(turn, one[1], one[2], topic, format('%d', one[3] * 1000), true)
    end
    sort(items, function(x, y) return x[1] < y[1] end)
    call('HSET', key, 'open', put_in_place(got[1] or '', items))
    call('HDEL', key, unpack(gone))
    for model in pairs(models) do offer(turn, model) end
end

return {CLAIM_MAX = CLAIM_MAX, next_claim = next_claim, offer = offer, reopen = reopen}
