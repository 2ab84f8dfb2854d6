-- delete: a user's tie to a topic goes, and with the last tie all of its data, its Open queries and
-- its claims. Whoever waits for one of them is told; an engine's answer to it finds nothing.
-- A topic with very many fields goes in several calls: first it is looked for other ties, then its newest rows
-- go, some a call. In between it is a shorter topic like any other.
-- KEYS: t:<topic>, topics:<user>, names:<user>, lookups:<topic>, partials:<topic>:<seq>, leases, failed,
--   include/fair.lua.
-- Wakes: waiting nodes.
-- Bound: DROP_ROWS rows, DROP_FIELDS fields looked at; LOOKUPS_PER_TOPIC lookups.
-- Lane: first.  Home: topic.  Nonce: yes.  Full: runs.
-- Repeatable: the second time it is forbidden.
-- Arguments:
--   user   name
--   topic  name
--   step   text? 48  none at first, then what the former call returned
-- Replies: ok | more/step (call again) | forbidden (no such topic of that user) | replay
local DROP = 500 -- rows looked at with one call
local DROP_ROWS, DROP_FIELDS = 5000, 50000

local function drop_rows(topic, from, to)
    local key, names, streams = P .. 't:' .. topic, {}, {}
    for seq = from, to do
        names[#names + 1] = 's:' .. seq
        names[#names + 1] = 'w:' .. seq
        streams[#streams + 1] = P .. 'partials:' .. topic .. ':' .. seq
    end
    local got = call('HMGET', key, unpack(names))
    for seq = from, to do
        local state, waiting = got[(seq - from) * 2 + 1], got[(seq - from) * 2 + 2]
        local lease = parse_pending(state)
        if lease and lease_known[lease] ~= false then end_lease(lease, topic) end
        if state and byte(state) == 70 then call('ZREM', P .. 'failed', topic .. ' ' .. seq) end
        tell_waiters(topic, seq, waiting, 'changed\n' .. topic .. '\n' .. seq)
    end
    call('UNLINK', unpack(streams))
end

-- Takes the Open queries from Seq `from` on out of the queue; those before stay.
local function drop_open(topic, from)
    local key, rest, gone, still = P .. 't:' .. topic, {}, {}, {}
    local open = call('HGET', key, 'open')
    if not open or open == '' then return end
    for item in gmatch(open, '[^;]+') do
        local seq, model, user, account = match(item, '^(%d+) %d+ (%S+) (%S+) (%S+)')
        if tonumber(seq) >= from then
            count_open(account, user, model, -1)
            gone[model .. ' ' .. user] = {model, user}
        else
            rest[#rest + 1] = item .. ';'
            still[model .. ' ' .. user] = true
        end
    end
    call('HSET', key, 'open', concat(rest))
    for name, pair in pairs(gone) do
        if not still[name] then dequeue(pair[1], pair[2], topic) end
    end
end

-- Drops the newest rows of a topic that stays for now: n at most.
local function drop_newest(topic, n)
    local key = P .. 't:' .. topic
    local last = tonumber(call('HGET', key, 'seq'))
    local first = max(1, last - n + 1)
    drop_open(topic, first)
    for from = first, last, DROP do
        local to, names = min(from + DROP - 1, last), {}
        drop_rows(topic, from, to)
        for seq = from, to do
            for _, letter in ipairs({'q:', 's:', 'a:', 'w:', 'b:'}) do names[#names + 1] = letter .. seq end
        end
        call('HDEL', key, unpack(names))
    end
    call('HSET', key, 'seq', format('%d', first - 1))
end

-- Drops a topic whole; the caller has seen that it is of no more than DROP_FIELDS fields.
local function drop_topic(topic)
    local key = P .. 't:' .. topic
    local last = tonumber(call('HGET', key, 'seq')) or 0
    drop_open(topic, 1)
    for from = 1, last, DROP do drop_rows(topic, from, min(from + DROP - 1, last)) end
    for _, field in ipairs(call('HKEYS', P .. 'lookups:' .. topic)) do
        forget_lookup(match(field, '^%d+ (%x+)$'))
    end
    call('UNLINK', key, P .. 'lookups:' .. topic)
end

-- One step of the end of a topic with too many fields for one call. Returns the next step, or nil when it
-- has another user's tie.
local function drop_step(key, user, topic, step)
    if step == 'rows' then
        drop_newest(topic, DROP_ROWS)
        return 'rows'
    end
    local scan = call('HSCAN', key, step == '' and '0' or step, 'MATCH', 'u:*', 'COUNT', DROP_FIELDS)
    for i = 1, #scan[2], 2 do
        if scan[2][i] ~= 'u:' .. user then return nil end
    end
    return scan[1] == '0' and 'rows' or scan[1]
end

verbs.delete = function(a)
    --- arguments
    local key = P .. 't:' .. topic
    local is_large = call('HLEN', key) > DROP_FIELDS
    if call('HEXISTS', key, 'u:' .. user) == 0 then return 'forbidden' end
    local next_step = is_large and tonumber(call('HGET', key, 'seq')) > 0 and drop_step(key, user, topic, step)
    if next_step then return 'more\n' .. next_step end
    call('HDEL', key, 'u:' .. user)
    call('ZREM', P .. 'topics:' .. user, topic)
    call('HDEL', P .. 'names:' .. user, topic)
    if is_large and next_step == nil then return 'ok' end
    for _, field in ipairs(call('HKEYS', key)) do
        if sub(field, 1, 2) == 'u:' then return 'ok' end
    end
    drop_topic(topic)
    return 'ok'
end
