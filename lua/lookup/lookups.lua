-- lookups: the life of a lookup: opened for an account, claimed and given back, closed when it is done, deleted with
-- the last topic that needs it. The zset `lookups` gives the time from which each may be claimed: a future time is a
-- lease, so leases expire without any action. The same times are in the set lookup_due (turn/due.lua): accounts take
-- turns, by which one opened the lookup, then their users, by whose query it is for. As with queries' leases
-- (queue/leases.lua), an odd time is a delivery lease: no engine has the lookup yet. `lease` of the hash
-- lookup:<fingerprint> is "<lease> <node>", the claim's fencing number and the node that it was given to. A claim as
-- text is like one of queries (queue/claims.lua): class / fingerprint / lease / 1 / 1 / fragment / count / threshold.
local idle = require('queue/idle')
local records = require('queue/records')
local shares = require('queue/shares')
local stored = require('queue/stored')
local bounds = require('turn/bounds')
local counters = require('turn/counters')
local due = require('turn/due')
local events = require('turn/events')
local call = redis.call
local format, match = string.format, string.match
local concat = table.concat
local max, min = math.max, math.min
local SCANS_MAX, LOOKUPS = idle.SCANS_MAX, idle.LOOKUPS
local SCAN_BYTES = bounds.SCAN_BYTES

local SET = 'lookup_due'
local NOBODY = '%'
local LOST_MOST = 20 -- claims of a lookup, lost on their way to engines; those after it last as long as others do
local SCANS_EACH = 5 -- what handing one over counts among the turn's scans: 1,000 a turn

-- A time in ms as text; odd for a delivery lease, even for all else.
local function time_text(at, is_delivery)
    return format('%d', at - at % 2 + (is_delivery and 1 or 0))
end

-- Its claim was lost on its way, and its lookup may be what ended the engine's connection: it is not handed round
-- without pause. Returns how often that was.
local function count_lost(key)
    return call('HINCRBY', key, 'lost', 1)
end

-- The user whose query a row is, as one of those who take turns: a digest, since a lookup may outlive its user's data.
local function turn_taker(row)
    return redis.sha1hex(records.user_of(row))
end

-- Whose turn a lookup takes.
local function owner_of(turn, fingerprint)
    local got = call('HMGET', turn.prefix .. 'lookup:' .. fingerprint, 'by', 'for')
    return {account = got[1] or NOBODY, user = got[2] or NOBODY}
end

-- It may be claimed from that time on (text). Returns how many lookups more there are.
local function put(turn, fingerprint, owner, at)
    due.put(turn, SET, owner, fingerprint, at)
    return call('ZADD', turn.prefix .. 'lookups', at, fingerprint)
end

-- The lookup whose turn it is, as due.first has it; nil when there is none. If its last claim reached no engine, the
-- node that it was given to gets no more until it is heard from: else a hung one would get it each time.
local function next_due(turn)
    local P, settings = turn.prefix, turn.settings
    -- Once in a turn it is looked whether the clock went back.
    local longest_ms = not turn.due_n and 2 * max(settings.lease_ms, settings.delivery_ms) or nil
    local at = due.first(turn, SET, due.TRIES_MAX, longest_ms)
    local time = at and call('ZSCORE', P .. 'lookups', at.row)
    if time and time % 2 == 1 then
        local key = P .. 'lookup:' .. at.row
        local node = match(call('HGET', key, 'lease') or '', '^%d+ (%S+)$')
        if node and node ~= turn.node then idle.strike_off(turn, LOOKUPS, node) end
        if call('HDEL', key, 'lease') == 1 then count_lost(key) end
    end
    return at
end

-- The claim of the lookup that is next (of next_due), for a poll of that entry of queue/idle.lua.
local function claim_of(turn, entry, at)
    local fingerprint = at.row
    local key, lease = turn.prefix .. 'lookup:' .. fingerprint, counters.next_lease(turn)
    local got = call('HMGET', key, 'fragment', 'count', 'threshold', 'lost')
    local ms = tonumber(got[4] or 0) > LOST_MOST and turn.settings.lease_ms or turn.settings.delivery_ms
    call('HSET', key, 'claimed', got[2] .. ' ' .. got[3], -- what its matches will answer
         'lease', lease .. ' ' .. entry.node)
    put(turn, fingerprint, at, time_text(turn.now_ms + ms, true))
    due.pass(turn, at)
    turn.scans = turn.scans + SCANS_EACH
    return concat({'claim', entry.class, fingerprint, lease, 1, 1, got[1], got[2], got[3]}, '\n')
end

-- The same of the lookup whose turn it is; nil when there is none.
local function next_claim(turn, entry)
    local at = next_due(turn)
    return at and claim_of(turn, entry, at)
end

-- Hands lookups to parked polls while there are both. Called after a verb made one claimable.
local function offer(turn)
    local at = next_due(turn)
    while at do
        local is_over = turn.offered_bytes >= SCAN_BYTES or turn.scans >= SCANS_MAX
        local entry = not is_over and idle.take_waiter(turn, LOOKUPS, '?')
        if not entry then return end
        local text = claim_of(turn, entry, at)
        turn.offered_bytes = turn.offered_bytes + #text
        events.send(turn, entry.node, text)
        at = next_due(turn)
    end
end

-- ms until the next lease ends, of lookups and, if `other` names one, of claims; '' when there is none.
local function next_end(turn, other)
    local first = call('ZRANGEBYSCORE', turn.prefix .. 'lookups', '(' .. turn.now_text, '+inf', 'WITHSCORES',
                       'LIMIT', 0, 1)[2] or other
    if not first then return '' end
    return format('%d', max(0, min(first, other or first) - turn.now_ms))
end

-- A lookup is to be done, because of that owner (as of owner_of), unless it waits for another one already. What an
-- engine may have of it is not what is wanted now.
local function open(turn, fingerprint, owner)
    local P = turn.prefix
    local key = P .. 'lookup:' .. fingerprint
    local is_open = call('ZSCORE', P .. 'lookups', fingerprint)
    put(turn, fingerprint, is_open and owner_of(turn, fingerprint) or owner, time_text(turn.now_ms))
    if not is_open then
        call('HSET', key, 'by', owner.account, 'for', owner.user)
        call('HINCRBY', P .. 'lookups_of', owner.account, 1)
    else
        call('HDEL', key, 'lease')
    end
    offer(turn)
end

-- Is that still the claim of that lookup?
local function is_held(turn, fingerprint, lease)
    local held = call('HGET', turn.prefix .. 'lookup:' .. fingerprint, 'lease')
    return held and match(held, '^%d+') == lease and call('ZSCORE', turn.prefix .. 'lookups', fingerprint)
end

-- Its claim has reached its engine: the delivery lease becomes a whole one.
local function keep(turn, fingerprint, lease)
    if not is_held(turn, fingerprint, lease) then return end
    put(turn, fingerprint, owner_of(turn, fingerprint), time_text(turn.now_ms + turn.settings.lease_ms))
end

-- Its claim has reached nobody: it is the next one to be claimed. `sent`: bytes of it were sent.
local function reopen(turn, fingerprint, lease, sent)
    local key, at = turn.prefix .. 'lookup:' .. fingerprint, '0'
    if not is_held(turn, fingerprint, lease) then return end
    call('HDEL', key, 'lease')
    if sent and count_lost(key) > LOST_MOST then at = time_text(turn.now_ms + turn.settings.lease_ms) end
    put(turn, fingerprint, owner_of(turn, fingerprint), at)
    offer(turn)
end

-- For that Count and Threshold: is it to be looked up (again)? And what refuses that.
local function check(turn, fingerprint, count, threshold, account, max_open)
    local P = turn.prefix
    local had = call('HMGET', P .. 'lookup:' .. fingerprint, 'count', 'threshold')
    if had[1] and tonumber(had[1]) >= tonumber(count) and had[2] == threshold then return false end
    if call('ZSCORE', P .. 'lookups', fingerprint) then return true end
    local has_open = tonumber(call('HGET', P .. 'lookups_of', account)) or 0
    if has_open >= min(max_open, shares.share_of_lookups(turn)) then
        return true, 'waiting\n' .. has_open .. '\n\naccount'
    end
    local depth = call('ZCARD', P .. 'lookups')
    return true, depth >= turn.settings.queue_max and 'full\n' .. depth or nil
end

-- It is to be looked up, because of that owner (as of owner_of); `is_counted`: what is found is counted for the owner's
-- account, unless it is for another one already.
local function begin(turn, fingerprint, alias, fragment, count, threshold, owner, is_counted)
    local P = turn.prefix
    local key = P .. 'lookup:' .. fingerprint
    call('HSET', key, 'fragment', fragment, 'count', count, 'threshold', threshold, 'alias', alias)
    if is_counted then call('HSETNX', key, 'stored', '0 ' .. owner.account) end
    call('HSET', P .. 'lookup_alias', alias, fingerprint)
    open(turn, fingerprint, owner)
end

-- It is done, or nobody needs it any more.
local function close(turn, fingerprint)
    local P = turn.prefix
    if call('ZREM', P .. 'lookups', fingerprint) == 0 then return end
    due.drop(turn, SET, owner_of(turn, fingerprint), fingerprint)
    local key = P .. 'lookup:' .. fingerprint
    local account = call('HGET', key, 'by')
    call('HDEL', key, 'by', 'for', 'lease', 'lost')
    if not account then return end
    if call('HINCRBY', P .. 'lookups_of', account, -1) <= 0 then call('HDEL', P .. 'lookups_of', account) end
end

-- Counts that many bytes for its account, instead of those counted before.
local function count_matches(turn, fingerprint, record, bytes)
    local had, account = match(record, '^(%d+) (%S+)$')
    stored.change(turn, account, bytes - had)
    call('HSET', turn.prefix .. 'lookup:' .. fingerprint, 'stored', format('%d', bytes) .. ' ' .. account)
end

-- Nobody needs it any more.
local function drop(turn, fingerprint)
    local P = turn.prefix
    local key = P .. 'lookup:' .. fingerprint
    local got = call('HMGET', key, 'alias', 'stored')
    local alias = got[1]
    if got[2] then count_matches(turn, fingerprint, got[2], 0) end
    if alias then call('HDEL', P .. 'lookup_alias', alias) end
    close(turn, fingerprint)
    call('DEL', key)
end

-- A topic no longer needs a lookup, which is deleted when no other topic needs it.
local function forget(turn, fingerprint)
    if call('HINCRBY', turn.prefix .. 'lookup:' .. fingerprint, 'refs', -1) <= 0 then drop(turn, fingerprint) end
end

return {
    put = put, turn_taker = turn_taker, owner_of = owner_of, next_claim = next_claim, offer = offer,
    next_end = next_end, keep = keep, reopen = reopen, check = check, begin = begin, close = close,
    count_matches = count_matches, drop = drop, forget = forget,
}
