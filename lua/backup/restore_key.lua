-- restore_key: a piece of a key that is kept as it is.
-- KEYS: that key.  ARGV: name, type, expiry (ms since 1970 or ''), values (as services/backup/read.lua gives them).
-- Returns: ok | unknown (a type of which nothing is kept).  Wakes: nobody.  Repeatable: yes.
-- Bound: one piece: 1 MiB, or one value.
local function restore_stream(key, first, last, on_added)
    while first < last do
        local n = tonumber(args[first + 1])
        local newest = call('EXISTS', key) == 1 and call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
        -- Sent again after a lost reply: an id that is there, or a lower one, is refused.
        local added = redis.pcall('XADD', key, args[first], unpack(args, first + 2, first + 1 + n))
        local is_added = type(added) ~= 'table'
        if not is_added and not newest then error(added.err) end
        if is_added and on_added then on_added(added, unpack(args, first + 2, first + 1 + n)) end
        first = first + 2 + n
    end
end

verbs.restore_key = function(a)
    local name, of, expires = args[a], args[a + 1], args[a + 2]
    local key, first, last = P .. name, a + 3, a + args[a - 1] - 1
    if expires ~= '' and tonumber(expires) <= now_ms then return 'ok' end
    -- Stops this race: a document is read while its job runs, the job ends, and then it is read as one of the
    -- past. Here it is the document's latest, which restore_document has queued again. A job is one piece.
    if match(name, '^job:') and call('EXISTS', key) == 1 then return 'ok' end
    if of == 'string' then
        call('SET', key, args[first])
    elseif of == 'hash' then
        if first <= last then call('HSET', key, unpack(args, first, last)) end
    elseif of == 'set' then
        if first <= last then call('SADD', key, unpack(args, first, last)) end
    elseif of == 'zset' then
        for i = first, last, 2 do call('ZADD', key, args[i + 1], args[i]) end
    elseif of == 'stream' then
        restore_stream(key, first, last, name == 'recommendations' and list_recommendation or nil)
    else
        return 'unknown'
    end
    if expires ~= '' then call('PEXPIREAT', key, expires) end
    return 'ok'
end
