-- nonce_marks: with several shards, records what a nonce of add-query was used for. The set nonce_marks:<minute> has
--   "<nonce> <mark>": in that minute a request with that mark used the nonce. Equal requests are admitted for
--   RESENT_MS, rounded up to a minute; resent:<nonce> counts those that were admitted and not refused since.
--   One set per minute, because a key with a TTL for each nonce costs Redis several times as much. A turn writes all of
--   its marks with one command.
local resent = require('queue/resent')
local call = redis.call
local floor, format, match = math.floor, string.format, string.match

local MINUTE_MS = 60000
local MINUTES = resent.RESENT_MS / MINUTE_MS -- a mark is in the set of this minute, or of one of so many before it
local KEPT_S = 1800                          -- if the cluster stops; otherwise `sweep` comes first

local function key_of(turn, minute)
    return turn.prefix .. 'nonce_marks:' .. format('%d', minute)
end

local function minute_of(turn)
    return floor(turn.now_ms / MINUTE_MS)
end

-- Records a nonce that was not used before, "<nonce> <mark>"; written at the end of the turn.
local function note(turn, member)
    local noted = turn.marks_noted or {}
    turn.marks_noted, noted[#noted + 1] = noted, member
end

local function flush(turn)
    local noted = turn.marks_noted
    if not noted then return end
    local key = key_of(turn, minute_of(turn))
    call('SADD', key, unpack(noted))
    call('EXPIRE', key, KEPT_S, 'NX')
    turn.marks_noted = nil
end

-- The set that contains this nonce and mark, or nil.
local function set_of(turn, member)
    flush(turn) -- this turn may have noted it
    local now = minute_of(turn)
    for minute = now, now - MINUTES, -1 do
        local key = key_of(turn, minute)
        if call('SISMEMBER', key, member) == 1 then return key end
    end
    return nil
end

local function resent_key(turn, nonce)
    return turn.prefix .. 'resent:' .. nonce
end

-- For a request whose nonce was used before: `again`, which admits it, if it was used for the same mark.
local function use_again(turn, member)
    if not set_of(turn, member) then return 'replay' end
    local key = resent_key(turn, match(member, '^%S+'))
    call('INCR', key)
    call('EXPIRE', key, KEPT_S)
    return 'again'
end

-- An admitted request was refused.
local function give_back(turn, nonce, mark)
    local member, resent_n = nonce .. ' ' .. mark, call('GET', resent_key(turn, nonce))
    local key = set_of(turn, member)
    if not key then return end
    if not resent_n then
        call('SREM', key, member)
    elseif resent_n == '1' then
        call('DEL', resent_key(turn, nonce))
    else
        call('DECR', resent_key(turn, nonce))
    end
end

-- Runs with each sync: drops old sets. UNLINK frees a large set in a background thread.
local function sweep(turn)
    local old, last = {}, minute_of(turn) - MINUTES - 1
    for minute = last, last - MINUTES, -1 do old[#old + 1] = key_of(turn, minute) end
    call('UNLINK', unpack(old))
end

return {note = note, flush = flush, use_again = use_again, give_back = give_back, sweep = sweep}
