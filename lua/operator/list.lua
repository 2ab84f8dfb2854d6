-- list: returns a page of queries in one state, for operators.
-- KEYS: models, turns:<model>, open:<model>:<user>, leases, lease:<id>, failed, t:<topic>.
-- Wakes: nobody.
-- Bound: REPLY_BYTES, but one query at least; SCAN_BYTES of rows, LIST_SCAN_MAX queries looked at.
-- Lane: slow.  Home: every.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   state  words Open|Pending|Failed
--   user   name?                      of this one only
--   skip   number                     cursor: how many queries of that state were looked at
--   page   number                     queries at most
-- Replies: replay | ok/next cursor ('' at the end), then per query ms / cursor after it / topic / Seq / 13 lines as
--   in queue/outcomes.lua. Lists of several shards are merged by ms: when an Open query was added, when a Pending one's
--   lease ends, when a Failed one failed. A page may hold fewer queries than asked for, or none, and still have a next
local behind = require('queue/behind')
local facts_of = require('queue/facts')
local fair = require('queue/fair')
local held = require('queue/held')
local outcomes = require('queue/outcomes')
local bounds = require('turn/bounds')
local hashes = require('turn/hashes')
local call = redis.call
local byte, format, gmatch, match = string.byte, string.format, string.gmatch, string.match
local concat = table.concat
local USERS_MAX = fair.USERS_MAX
local SCAN_BYTES, REPLY_BYTES = bounds.SCAN_BYTES, bounds.REPLY_BYTES

local LIST_SCAN_MAX = 20000 -- what comes after is not listed

-- The Open queries of a topic, by "<model> <user>". Each topic is read once, in however many queues it is.
local function open_by_queue(turn, topic)
    local by_queue = {}
    for item in gmatch(call('HGET', turn.prefix .. 't:' .. topic, 'open') or '', '[^;]+') do
        local seq, model, user = match(item, '^(%d+) %d+ (%S+) (%S+)')
        local queue = model .. ' ' .. user
        by_queue[queue] = by_queue[queue] or {}
        by_queue[queue][#by_queue[queue] + 1] = seq
    end
    return by_queue
end

-- Calls visit(topic, seq, user, ms) for the queries in a state, until it returns true. `user` and `ms` are nil where
-- only the row knows.
local function each_open(turn, visit)
    local P = turn.prefix
    local topics = {}
    for _, model in ipairs(call('SMEMBERS', P .. 'models')) do
        for _, user in ipairs(call('ZRANGE', P .. 'turns:' .. model, 0, USERS_MAX - 1)) do
            bounds.note_read(turn, 2, 0)
            for _, topic in ipairs(call('ZRANGE', P .. 'open:' .. model .. ':' .. user, 0, LIST_SCAN_MAX)) do
                topics[topic] = topics[topic] or open_by_queue(turn, topic)
                for _, seq in ipairs(topics[topic][model .. ' ' .. user] or {}) do
                    if visit(topic, seq, user) then return end
                end
            end
        end
    end
end

local function each_pending(turn, visit)
    local found = call('ZRANGE', turn.prefix .. 'leases', 0, LIST_SCAN_MAX, 'WITHSCORES')
    for i = 1, #found, 2 do
        local lease, topic = match(found[i], '^(%d+) (%S+)$')
        bounds.note_read(turn, 3, 0)
        for _, seq in ipairs(held.held_by(turn, topic, lease)) do
            if visit(topic, seq, nil, found[i + 1]) then return end
        end
    end
end

local function each_failed(turn, visit)
    local found = call('ZRANGE', turn.prefix .. 'failed', 0, LIST_SCAN_MAX, 'WITHSCORES')
    for i = 1, #found, 2 do
        local topic, seq = match(found[i], '^(%S+) (%d+)$')
        if visit(topic, seq, nil, found[i + 1]) then return end
    end
end

local function verb(turn, a)
    --- arguments
    local each = ({Open = each_open, Pending = each_pending, Failed = each_failed})[state]
    local text, scanned, taken, read, bytes = {'ok', ''}, 0, 0, 0, 0
    each(turn, function(topic, seq, of_user, ms)
        scanned = scanned + 1
        bounds.note_read(turn, 1, 0)
        if scanned > LIST_SCAN_MAX then return true end
        if scanned <= skip or (of_user and user ~= '' and behind.person_of(of_user) ~= user) then return false end
        local key = turn.prefix .. 't:' .. topic
        local size = hashes.bytes_of(key, 'q:' .. seq)
        if taken == page or (taken > 0 and bytes + size > REPLY_BYTES) or read > SCAN_BYTES then
            text[2] = format('%d', scanned - 1)
            return true
        end
        local got = call('HMGET', key, 'q:' .. seq, 's:' .. seq, 'f:' .. seq)
        local row = got[1]
        read = read + size
        bounds.note_read(turn, 2, size)
        if not row or (user ~= '' and behind.person_of(match(row, '^%d+\n%S+ (%S+)')) ~= user) then return false end
        taken, bytes = taken + 1, bytes + size
        text[#text + 1] = ms or match(row, '^%d+')
        text[#text + 1] = format('%d', scanned)
        text[#text + 1] = topic
        text[#text + 1] = seq
        local first = got[2] and byte(got[2])
        if first == 70 then
            text[#text + 1] = concat(outcomes.as_text(row, got[2]))
        else
            text[#text + 1] = state .. '\n' .. row .. '\n\n\n\n\n' .. facts_of.as_line(got[3])
        end
        return false
    end)
    return concat(text, '\n')
end

return {list = verb}
