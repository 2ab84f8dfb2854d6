-- reap: returns claims whose lease has ended to Open, at the front of the queue, or marks them Failed when their
-- attempts are used up. A claim of which no node says that it reached an engine uses no attempt, a bounded number of
-- times (queue/uncounted.lua), and its node gets no more hand-overs until it reports again: otherwise a hung node with
-- many polls would get the same query each time. Any node may call it at any time; leases that have not ended are left
-- alone. Models whose time has come fall back (queue/fallback.lua).
-- Lookups whose lease has ended need not be returned: they are handed to parked polls.
-- KEYS: leases zset, lease:<id>, t:<topic>, falls zset, lookup/lookups.lua.
-- Wakes: one parked poll a claim, by hand-over; waiters of what failed.
-- Bound: REAP_MAX leases, ending with the one that reaches REAP_ROWS rows or SCAN_BYTES of them; for each that has no
--   key and no list any more the states of LOOKBACK rows. What comes back to
--   one topic comes back at once: its field `open` is written once, whatever the number of claims.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments: none.
-- Replies: ms until the next lease ends or model falls (0: more are due), '' when there is none; after it, when leases
--   have ended, expired (how many of them engines had)/undelivered (how many no engine had)
local lookups = require('lookup/lookups')
local claims = require('queue/claims')
local fallback = require('queue/fallback')
local held = require('queue/held')
local idle = require('queue/idle')
local leases = require('queue/leases')
local outcomes = require('queue/outcomes')
local uncounted = require('queue/uncounted')
local bounds = require('turn/bounds')
local hashes = require('turn/hashes')
local call = redis.call
local match = string.match
local SCAN_BYTES = bounds.SCAN_BYTES

local REAP_MAX, REAP_ROWS = 100, 1000
local COMMANDS = 3 -- for a row

-- Ends a lease that is due. Returns what it held, and how many bytes of rows.
local function end_due(turn, lease, topic, is_undelivered)
    local key, bytes = turn.prefix .. 't:' .. topic, 0
    local seqs, attempts, node = held.held_by(turn, topic, lease)
    for k = 1, #seqs do bytes = bytes + hashes.bytes_of(key, 'q:' .. seqs[k]) end
    if is_undelivered and #seqs > 0 then
        uncounted.take_back(key, seqs, attempts)
        idle.strike_off(turn, idle.QUERIES, node)
    end
    leases.finish(turn, lease, topic)
    call('HDEL', key, 'l:' .. lease)
    return seqs, attempts, bytes
end

local function verb(turn, a)
    local P = turn.prefix
    leases.flush(turn)
    local due = call('ZRANGEBYSCORE', P .. 'leases', '-inf', turn.now_ms, 'WITHSCORES',
                     'LIMIT', 0, REAP_MAX)
    local bytes, rows, of_topic, topics = 0, 0, {}, {}
    local expired, undelivered = 0, 0
    for i = 1, #due, 2 do
        if bytes > SCAN_BYTES or rows >= REAP_ROWS then break end
        local lease, topic = match(due[i], '^(%d+) (%S+)$')
        local is_undelivered = due[i + 1] % 2 == 1
        local seqs, attempts, its_bytes = end_due(turn, lease, topic, is_undelivered)
        if is_undelivered then undelivered = undelivered + 1 else expired = expired + 1 end
        local back = of_topic[topic]
        if not back then
            back = {seqs = {}, attempts = {}}
            of_topic[topic], topics[#topics + 1] = back, topic
        end
        for k = 1, #seqs do
            back.seqs[#back.seqs + 1], back.attempts[#back.attempts + 1] = seqs[k], attempts[k]
        end
        bytes, rows = bytes + its_bytes, rows + #seqs
    end
    bounds.note_read(turn, COMMANDS * rows + #due, 0)
    for _, topic in ipairs(topics) do
        local back = of_topic[topic]
        outcomes.return_rows(turn, topic, back.seqs, back.attempts,
                             '"No answer came before the lease ended, in any attempt."')
    end
    for _, model in ipairs(fallback.fall_due(turn)) do claims.offer(turn, model) end
    lookups.offer(turn)
    leases.flush(turn)
    local first = call('ZRANGE', P .. 'leases', 0, 0, 'WITHSCORES')[2]
    local next_end = lookups.next_end(turn, fallback.sooner(turn, first))
    if #topics == 0 then return next_end end
    return next_end .. '\n' .. expired .. '\n' .. undelivered
end

return {reap = verb}
