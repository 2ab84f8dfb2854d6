-- drop: deletes a topic, whole or newest rows first.
local charges = require('account/charges')
local lookups = require('lookup/lookups')
local needs = require('lookup/needs')
local fair = require('queue/fair')
local leases = require('queue/leases')
local records = require('queue/records')
local shares = require('queue/shares')
local stored = require('queue/stored')
local waiters = require('queue/waiters')
local bounds = require('turn/bounds')
local call = redis.call
local byte, format, gmatch, match = string.byte, string.format, string.gmatch, string.match
local concat = table.concat
local max, min = math.max, math.min

local DROP = 500 -- rows looked at with one call
local DROP_ROWS, DROP_FIELDS = 5000, 50000
local OF_ROW = {
    'q:', 's:', 'a:', 'w:', 'b:', 'd:', 'f:', 'g:', 'k:', 'm:', 'e:', 'o:', 'r:', 'x:', 'p:', 'n:', 'v:', 'y:', 'h:',
    'i:', 'j:',
}

local function drop_rows(turn, topic, from, to)
    local P = turn.prefix
    local key, names, streams = P .. 't:' .. topic, {}, {}
    for seq = from, to do
        names[#names + 1] = 's:' .. seq
        names[#names + 1] = 'w:' .. seq
        names[#names + 1] = 'x:' .. seq
        names[#names + 1] = 'g:' .. seq
        names[#names + 1] = 'i:' .. seq
        streams[#streams + 1] = P .. 'partials:' .. topic .. ':' .. seq
    end
    local got = call('HMGET', key, unpack(names))
    bounds.note_read(turn, to - from + 1, 0)
    for seq = from, to do
        local at = (seq - from) * 5
        local state, waiting, grant = got[at + 1], got[at + 2], got[at + 4]
        if got[at + 3] then call('ZREM', P .. 'asks', topic .. ' ' .. seq) end
        if got[at + 5] then call('ZREM', P .. 'responses', topic .. ' ' .. seq) end
        local lease = records.parse_pending(state)
        if lease and not leases.has_ended(turn, lease) then leases.finish(turn, lease, topic) end
        if state and byte(state) == 70 then call('ZREM', P .. 'failed', topic .. ' ' .. seq) end
        if grant then
            local row = call('HGET', key, 'q:' .. seq)
            charges.charge_unanswered(turn, topic, format('%d', seq), state, row, grant, false)
        end
        waiters.notify(turn, topic, seq, waiting, 'changed\n' .. topic .. '\n' .. seq)
    end
    call('UNLINK', unpack(streams))
end

-- Takes the Open queries from Seq `from` on, all or that user's, out of the queue; the others stay.
local function drop_open(turn, topic, from, whose)
    local key, rest, gone, still = turn.prefix .. 't:' .. topic, {}, {}, {}
    local open = call('HGET', key, 'open')
    if not open or open == '' then return end
    for item in gmatch(open, '[^;]+') do
        local seq, model, user, account = match(item, '^(%d+) %d+ (%S+) (%S+) (%S+)')
        if tonumber(seq) >= from and (not whose or user == whose) then
            shares.count(turn, account, user, model, -1)
            gone[model .. ' ' .. user] = {model, user}
        else
            rest[#rest + 1] = item .. ';'
            still[model .. ' ' .. user] = true
        end
    end
    call('HSET', key, 'open', concat(rest))
    for name, pair in pairs(gone) do
        if not still[name] then fair.dequeue(turn, pair[1], pair[2], topic) end
    end
end

-- Drops the newest rows of a topic that stays for now: n at most.
local function drop_newest(turn, topic, n)
    local key = turn.prefix .. 't:' .. topic
    local last = tonumber(call('HGET', key, 'seq'))
    local first = max(1, last - n + 1)
    drop_open(turn, topic, first)
    for from = first, last, DROP do
        local to = min(from + DROP - 1, last)
        drop_rows(turn, topic, from, to)
        for _, letter in ipairs(OF_ROW) do
            local names = {}
            for seq = from, to do names[#names + 1] = letter .. seq end
            call('HDEL', key, unpack(names))
        end
    end
    call('HDEL', key, 'places') -- those left may show rows that are gone
    call('HSET', key, 'seq', format('%d', first - 1))
end

-- Drops a topic whole; the caller has seen that it is of no more than DROP_FIELDS fields.
local function drop_topic(turn, topic)
    local P = turn.prefix
    local key = P .. 't:' .. topic
    local got = call('HMGET', key, 'seq', 'stored')
    local last = tonumber(got[1]) or 0
    stored.release(turn, key, got[2])
    drop_open(turn, topic, 1)
    for from = 1, last, DROP do drop_rows(turn, topic, from, min(from + DROP - 1, last)) end
    if turn.is_sharded then
        needs.release_all(turn, topic)
    else
        for _, field in ipairs(call('HKEYS', P .. 'lookups:' .. topic)) do
            lookups.forget(turn, match(field, '^%d+ (%x+)$'))
        end
    end
    call('UNLINK', key, P .. 'lookups:' .. topic)
end

return {
    DROP_ROWS = DROP_ROWS, DROP_FIELDS = DROP_FIELDS, drop_open = drop_open, drop_newest = drop_newest,
    drop_topic = drop_topic,
}
