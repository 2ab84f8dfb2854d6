-- audit: the audit log, a stream per class, so that what clients may cause at will (deletions, refused logins) does
-- not displace what operators did. Nothing is ever changed in it. Entries end by number and by age, with the next
-- entry of their class.
local call = redis.call
local format = string.format

local CLASSES = {'account', 'operator', 'deletion', 'refused'}
local MAX = {account = 10000, operator = 20000, deletion = 20000, refused = 10000}
local AGE_MS = 90 * 86400000
local REFUSED_A_MINUTE = 60 -- of the whole cluster: strangers can cause them

local function key_of(turn, class)
    return turn.prefix .. 'audit:' .. class
end

-- `n` is a number that belongs to the entry, or ''.
local function note(turn, class, row, n)
    local key = key_of(turn, class)
    call('XADD', key, 'MAXLEN', '~', MAX[class], '*', 'row', row, 'n', n)
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

return {CLASSES = CLASSES, AGE_MS = AGE_MS, key_of = key_of, note = note, note_refused = note_refused}
