-- failure: counts a failed login in its two slots (shared/http/access/failures.h), over the last 60 to 80 seconds.
-- Only failed logins cost this call. Invented names cost at most four strings of 128 KiB.
-- The first failure, and the last one before further ones are refused, are put into the audit log.
-- KEYS: failures:<slice> strings of a byte per slot, a slice is 20 s. audit:refused, audit_refused.
-- Wakes: nobody.
-- Bound: two slots of four strings, which hold 128 KiB each.
-- Lane: first.  Home: cluster.  Nonce: no.  Full: runs.
-- Repeatable: counts again.
-- Arguments:
--   slot        digits  0 to 65535
--   other_slot  digits  65536 to 131071
--   limit       number
--   row         json? 4k  for the audit log
-- Replies: count (the lower one) / ms until a further failure is within the limit again (0: it is now)
local audit = require('audit/audit')
local call = redis.call
local format = string.format
local floor, min = math.floor, math.min

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local slice = floor(turn.now_ms / 20000)
    local newest, one, two = P .. 'failures:' .. slice, '#' .. slot, '#' .. other_slot
    local counts = {[0] = call('BITFIELD', newest, 'OVERFLOW', 'SAT', 'INCRBY', 'u8', one, 1, 'INCRBY', 'u8', two, 1)}
    call('PEXPIRE', newest, 80000)
    for back = 1, 3 do
        counts[back] = call('BITFIELD_RO', P .. 'failures:' .. (slice - back), 'GET', 'u8', one, 'GET', 'u8', two)
    end
    local count, left
    for i = 1, 2 do
        local all, last = 0, 0
        for back = 0, 3 do all = all + counts[back][i] end
        local still = all
        for back = 3, 0, -1 do
            if still < limit then break end
            still = still - counts[back][i]
            last = (slice - back + 4) * 20000 - turn.now_ms
        end
        count, left = min(count or all, all), min(left or last, last)
    end
    if row ~= '' and (count == 1 or count == limit) then audit.note_refused(turn, row, count) end
    return format('%d\n%d', count, left)
end

return {failure = verb}
