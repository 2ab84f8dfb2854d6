-- sync: the slow rescan. A node says that it is there, states its credits anew, and takes what is
-- claimable for polls that missed their hand-over (a lost message, a struck-off node).
-- KEYS: nodes zset (node -> last seen ms), node_info hash, idle, engines hash, drained set,
--   stat:<minute> hash, nonces:<day> set, models set.
-- ARGV: info (JSON), added, done (counts since the last sync), class_n, then per class
--   the class and its parked polls, then per engine seen since the last sync its "<account> <engine>"
--   and its info (JSON).
-- Returns: <ms until the next lease ends or ''>/<drained accounts, ','>
-- Wakes: this node's polls only.  Repeatable: yes.
local NODE_GONE_MS, NONCE_S = 60000, 172800

verbs.sync = function(a)
    local last = a + args[a - 1]
    call('ZADD', P .. 'nodes', now_ms, node)
    call('HSET', P .. 'node_info', node, args[a])
    for _, gone in ipairs(call('ZRANGEBYSCORE', P .. 'nodes', '-inf', now_ms - NODE_GONE_MS)) do
        call('ZREM', P .. 'nodes', gone)
        call('HDEL', P .. 'node_info', gone)
    end
    local stat = P .. 'stat:' .. floor(now_s / 60)
    for i, name in ipairs({'added', 'done'}) do
        if args[a + i] ~= '0' then
            call('HINCRBY', stat, name, args[a + i])
            call('EXPIRE', stat, STAT_S)
        end
    end
    call('EXPIRE', P .. 'nonces:' .. floor(now_ms / 86400000), NONCE_S, 'NX')
    local class_n, i = tonumber(args[a + 3]), a + 4
    for _ = 1, class_n do
        local entry = own_entry(args[i])
        entry.credits = tonumber(args[i + 1])
        idle_dirty[entry] = true
        while entry.credits > 0 do
            local text = claim_next(entry)
            if not text then break end
            add_credit(entry, -1)
            events[#events + 1] = 'claim\n' .. text
        end
        i = i + 2
    end
    while i < last do
        call('HSET', P .. 'engines', args[i], now_ms .. ' ' .. args[i + 1])
        i = i + 2
    end
    flush_leases()
    local first = call('ZRANGE', P .. 'leases', 0, 0, 'WITHSCORES')[2]
    return (first and format('%d', max(0, first - now_ms)) or '') .. '\n'
        .. concat(call('SMEMBERS', P .. 'drained'), ',')
end
