-- purge: retention. Topics whose last query is older than the cut-off go, a few a call.
-- KEYS: users set, topics:<user>, names:<user>, t:<topic>.  ARGV: max_age_s, cursor.
-- Returns: next cursor ('0': one round is done).  Wakes: as delete.  Repeatable: yes.
local PURGE_USERS, PURGE_TOPICS = 10, 50

verbs.purge = function(a)
    local cutoff = now_ms - tonumber(args[a]) * 1000
    local scan = call('SSCAN', P .. 'users', args[a + 1], 'COUNT', PURGE_USERS)
    for _, user in ipairs(scan[2]) do
        local mine = P .. 'topics:' .. user
        for _, topic in ipairs(call('ZRANGEBYSCORE', mine, '-inf', cutoff, 'LIMIT', 0, PURGE_TOPICS)) do
            local key = P .. 't:' .. topic
            local row = call('HGET', key, 'q:' .. (call('HGET', key, 'seq') or '0'))
            if not row or tonumber(match(row, '^%d+')) < cutoff then
                for _, field in ipairs(call('HKEYS', key)) do
                    if sub(field, 1, 2) == 'u:' then
                        call('ZREM', P .. 'topics:' .. sub(field, 3), topic)
                        call('HDEL', P .. 'names:' .. sub(field, 3), topic)
                    end
                end
                call('ZREM', mine, topic)
                drop_topic(topic)
            end
        end
        if call('EXISTS', mine) == 0 then call('SREM', P .. 'users', user) end
    end
    return scan[1]
end
