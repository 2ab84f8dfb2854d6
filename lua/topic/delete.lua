-- delete: a user's tie to a topic goes, and with the last tie all of its data, its Open queries and
-- its claims. Whoever waits for one of them is told; an engine's answer to it finds nothing.
-- KEYS: t:<topic>, topics:<user>, names:<user>, lookups:<topic>, leases, include/fair.lua.
-- ARGV: nonce, user, topic.
-- Returns: ok | forbidden (no such topic of that user) | replay.  Wakes: waiting nodes.
-- Repeatable: the second time it is forbidden.
local function drop_topic(topic)
    local key = P .. 't:' .. topic
    local last = tonumber(call('HGET', key, 'seq')) or 0
    for item in gmatch(call('HGET', key, 'open') or '', '[^;]+') do
        local model, user, account = match(item, '^%d+ %d+ (%S+) (%S+) (%S+)')
        count_open(account, user, -1)
        dequeue(model, user, topic)
    end
    for seq = 1, last do
        local got = call('HMGET', key, 's:' .. seq, 'w:' .. seq)
        local lease = parse_pending(got[1])
        if lease then
            end_lease(lease, topic)
            call('DEL', P .. 'partials:' .. topic .. ':' .. seq)
        end
        tell_waiters(topic, seq, got[2], 'changed\n' .. topic .. '\n' .. seq)
        if got[1] and byte(got[1]) == 70 then call('ZREM', P .. 'failed', topic .. ' ' .. seq) end
    end
    for _, field in ipairs(call('HKEYS', P .. 'lookups:' .. topic)) do
        forget_lookup(match(field, ' (%x+)$'))
    end
    call('DEL', key, P .. 'lookups:' .. topic)
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
