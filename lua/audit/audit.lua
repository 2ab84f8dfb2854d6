-- audit: the audit log, a stream per class, so that what clients may cause at will (deletions, refused logins) does
-- not displace what operators did. Nothing is ever changed in it. Entries end by number and by age, with the next
-- entry of their class.
local call = redis.call
local format, match = string.format, string.match

local CLASSES = {'account', 'operator', 'deletion', 'refused'}
local MAX = {account = 10000, operator = 20000, deletion = 20000, refused = 10000}
local AGE_MS = 90 * 86400000
local REFUSED_A_MINUTE = 60 -- of the whole cluster: anybody can cause them

local function key_of(turn, class)
    return turn.prefix .. 'audit:' .. class
end

local function parse_id(id)
    local ms, n = match(id, '^(%d+)%-(%d+)$')
    return tonumber(ms), tonumber(n)
end

-- Higher than those of all classes: a reader that continues from the last entry it saw misses none, be it of the same
-- millisecond or of a clock that was put back.
local function next_id(turn)
    local ms, n = turn.now_ms, 0
    for i = 1, #CLASSES do
        local last = call('XREVRANGE', key_of(turn, CLASSES[i]), '+', '-', 'COUNT', 1)[1]
        if last then
            local last_ms, last_n = parse_id(last[1])
            if last_ms > ms or (last_ms == ms and last_n >= n) then ms, n = last_ms, last_n + 1 end
        end
    end
    return format('%d-%d', ms, n)
end

-- `n` is a number that belongs to the entry, or ''.
local function note(turn, class, row, n)
    local key = key_of(turn, class)
    call('XADD', key, 'MAXLEN', '~', MAX[class], next_id(turn), 'row', row, 'n', n)
    call('XTRIM', key, 'MINID', '~', format('%d', turn.now_ms - AGE_MS))
end

-- A refused login, unless there have been enough of them in this minute; the last one then says so.
local function note_refused(turn, row, n)
    local counter = turn.prefix .. 'audit_refused'
    local noted = call('INCR', counter)
    if noted == 1 then call('PEXPIRE', counter, 60000) end
    if noted < REFUSED_A_MINUTE then
        note(turn, 'refused', row, n)
    elseif noted == REFUSED_A_MINUTE then
        note(turn, 'refused', '{"Event":"more_logins_refused"}', '')
    end
end

return {
    CLASSES = CLASSES, AGE_MS = AGE_MS, key_of = key_of, parse_id = parse_id, note = note, note_refused = note_refused,
}
