-- purge: retention. Topics whose last query is older than the cut-off go, some rows a call.
-- KEYS: users set, topics:<user>, names:<user>, t:<topic>.  ARGV: max_age_s, cursor.
-- Returns: next cursor ('0': one round is done; the same one again, as '00' for '0', while more is left
--   there).  Wakes: as delete.  Repeatable: yes.
local PURGE_USERS, PURGE_TOPICS, PURGE_ROWS = 10, 100, 5000

-- Drops one topic for all who have a part in it. Returns how many rows it had, nil when it is not old.
local function purge_topic(topic, cutoff)
    local key = P .. 't:' .. topic
    local last = call('HGET', key, 'seq') or '0'
    local row = call('HGET', key, 'q:' .. last)
    if row and tonumber(match(row, '^%d+')) >= cutoff then return nil end
    for _, field in ipairs(call('HKEYS', key)) do
        if sub(field, 1, 2) == 'u:' then
            call('ZREM', P .. 'topics:' .. sub(field, 3), topic)
            call('HDEL', P .. 'names:' .. sub(field, 3), topic)
        end
    end
    drop_topic(topic)
    return tonumber(last)
end

verbs.purge = function(a)
    local cutoff, rows_left = now_ms - tonumber(args[a]) * 1000, PURGE_ROWS
    local scan = call('SSCAN', P .. 'users', args[a + 1], 'COUNT', PURGE_USERS)
    for _, user in ipairs(scan[2]) do
        local mine, kept = P .. 'topics:' .. user, 0
        repeat -- topics that are old but still asked in are passed over
            local topics = call('ZRANGEBYSCORE', mine, '-inf', cutoff, 'LIMIT', kept, PURGE_TOPICS)
            for _, topic in ipairs(topics) do
                local rows = purge_topic(topic, cutoff)
                if rows then
                    call('ZREM', mine, topic)
                    rows_left = rows_left - rows - 1
                    if rows_left <= 0 then return args[a + 1] == '0' and '00' or args[a + 1] end
                else
                    kept = kept + 1
                end
            end
        until #topics < PURGE_TOPICS
        if call('EXISTS', mine) == 0 then call('SREM', P .. 'users', user) end
    end
    return scan[1]
end
