-- failure: counts a failed login in its slot (shared/http/failures.h), over the last 60 to 80 seconds.
-- Only failures cost this call. What strangers invent costs no more than the four strings of 64 KiB.
-- KEYS: failures:<slice> strings of a byte per slot, a slice is 20 s.  ARGV: slot (0 to 65535), limit.
-- Returns: count / ms until a further failure is counted within the limit again (0: it is now).
-- Wakes: nobody.  Repeatable: counts again.
verbs.failure = function(a)
    local slot, limit, slice = '#' .. args[a], tonumber(args[a + 1]), floor(now_ms / 20000)
    local newest = P .. 'failures:' .. slice
    local counts = {[0] = call('BITFIELD', newest, 'OVERFLOW', 'SAT', 'INCRBY', 'u8', slot, 1)[1]}
    call('PEXPIRE', newest, 80000)
    local count, left = counts[0], 0
    for back = 1, 3 do
        counts[back] = call('BITFIELD_RO', P .. 'failures:' .. (slice - back), 'GET', 'u8', slot)[1]
        count = count + counts[back]
    end
    local still = count
    for back = 3, 0, -1 do
        if still < limit then break end
        still = still - counts[back]
        left = (slice - back + 4) * 20000 - now_ms
    end
    return format('%d\n%d', count, left)
end
