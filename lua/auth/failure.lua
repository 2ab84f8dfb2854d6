-- failure: counts a failed login of an address; at the limit every node refuses that address until
-- the minute is over. Only failures cost this call.
-- KEYS: failures:<address> string with TTL.  ARGV: address (name), limit, window_ms.
-- Returns: count.  Wakes: all nodes, at the limit and past it.  Repeatable: counts again.
-- Bound: one count.
verbs.failure = function(a)
    local key = P .. 'failures:' .. args[a]
    local count = call('INCR', key)
    if count == 1 then call('PEXPIRE', key, args[a + 2]) end
    if count >= tonumber(args[a + 1]) then
        local block = 'block\n' .. args[a] .. '\n' .. call('PTTL', key)
        publish('all', {block})
        events[#events + 1] = 'block\n' .. args[a] .. '\n' .. call('PTTL', key)
    end
    return format('%d', count)
end
