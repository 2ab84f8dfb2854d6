-- delete: a user's tie to a topic goes, and with the last tie all of its data, its Open queries and
-- its claims. Whoever waits for one of them is told; an engine's answer to it finds nothing.
-- KEYS: t:<topic>, topics:<user>, names:<user>, lookups:<topic>, partials:<topic>:<seq>, leases, failed,
--   include/fair.lua.
-- ARGV: nonce, user, topic.
-- Returns: ok | forbidden (no such topic of that user) | replay.  Wakes: waiting nodes.
-- Repeatable: the second time it is forbidden.
local DROP = 500 -- rows looked at with one call

local function drop_rows(topic, from, to)
    local key, fields, streams = P .. 't:' .. topic, {}, {}
    for seq = from, to do
        fields[#fields + 1] = 's:' .. seq
        fields[#fields + 1] = 'w:' .. seq
        streams[#streams + 1] = P .. 'partials:' .. topic .. ':' .. seq
    end
    local got = call('HMGET', key, unpack(fields))
    for seq = from, to do
        local state, waiting = got[(seq - from) * 2 + 1], got[(seq - from) * 2 + 2]
        local lease = parse_pending(state)
        if lease and lease_known[lease] ~= false then end_lease(lease, topic) end
        if state and byte(state) == 70 then call('ZREM', P .. 'failed', topic .. ' ' .. seq) end
        tell_waiters(topic, seq, waiting, 'changed\n' .. topic .. '\n' .. seq)
    end
    call('UNLINK', unpack(streams))
end

local function drop_topic(topic)
    local key = P .. 't:' .. topic
    local last = tonumber(call('HGET', key, 'seq')) or 0
    for item in gmatch(call('HGET', key, 'open') or '', '[^;]+') do
        local model, user, account = match(item, '^%d+ %d+ (%S+) (%S+) (%S+)')
        count_open(account, user, -1)
        dequeue(model, user, topic)
    end
    for from = 1, last, DROP do drop_rows(topic, from, min(from + DROP - 1, last)) end
    for _, field in ipairs(call('HKEYS', P .. 'lookups:' .. topic)) do
        forget_lookup(match(field, ' (%x+)$'))
    end
    call('UNLINK', key, P .. 'lookups:' .. topic)
end

verbs.delete = function(a)
    if is_replayed(args[a]) then return 'replay' end
    local user, topic = args[a + 1], args[a + 2]
    local key = P .. 't:' .. topic
    if call('HDEL', key, 'u:' .. user) == 0 then return 'forbidden' end
    call('ZREM', P .. 'topics:' .. user, topic)
    call('HDEL', P .. 'names:' .. user, topic)
    for _, field in ipairs(call('HKEYS', key)) do
        if sub(field, 1, 2) == 'u:' then return 'ok' end
    end
    drop_topic(topic)
    return 'ok'
end
