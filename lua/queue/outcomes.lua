-- outcomes: ends a query once and notifies waiting nodes. The event "outcome" carries what check-query shows, so that a
--   waiting node needs no further call; "changed" makes it check again (partials, a claim that came back). Both begin
--   with topic and Seq.
-- An outcome as text: status / 7 row lines / 5 answer lines (empty ones without an answer, with
-- the reason in the place of the answer when Failed or Cancelled, and of one that Failed with the error in the next).
local charges = require('account/charges')
local claims = require('queue/claims')
local continuing = require('queue/continuing')
local fair = require('queue/fair')
local held = require('queue/held')
local leases = require('queue/leases')
local open_list = require('queue/open_list')
local rate = require('queue/rate')
local records = require('queue/records')
local shares = require('queue/shares')
local waiters = require('queue/waiters')
local bounds = require('turn/bounds')
local call = redis.call
local byte, sub = string.byte, string.sub
local floor = math.floor
local STAT_S = rate.STAT_S

local OUTCOME_INLINE_MAX = 65536 -- nodes that wait fetch larger answers

-- In parts (turn/parts.lua). `before` and `after`, if any, are put around it.
local function as_text(row, state, answer, before, after)
    local first = byte(state)
    before = before or ''
    if first == 68 then return {before .. 'Done\n', row, '\n', answer, after} end
    local name = first == 70 and 'Failed' or 'Cancelled'
    return {before .. name .. '\n', row, '\n', sub(state, 3), '\n' .. (answer or '') .. '\n\n\n' .. (after or '')}
end

local function as_event(topic, seq, row, state, answer)
    if #row + #(answer or '') > OUTCOME_INLINE_MAX then
        return 'changed\n' .. topic .. '\n' .. seq
    end
    return as_text(row, state, answer, 'outcome\n' .. topic .. '\n' .. seq .. '\n')
end

-- One query of a claim is no longer Pending: the lease ends with its last one. Engines answer in order, so the last Seq
-- is looked at before all others. Returns whether the lease ended.
local function leave_lease(turn, topic, lease, n)
    if n > 1 and (held.holds_last(turn, topic, lease) or #held.held_by(turn, topic, lease) > 0) then return false end
    leases.finish(turn, lease, topic)
    if n > 1 then call('HDEL', turn.prefix .. 't:' .. topic, 'l:' .. lease) end
    return true
end

-- Takes an Open query out of the queue.
local function leave_open(turn, topic, seq)
    local key = turn.prefix .. 't:' .. topic
    local rest, model, user, account, has_more = open_list.without(call('HGET', key, 'open') or '', seq)
    if not rest then return end
    call('HSET', key, 'open', rest)
    shares.count(turn, account, user, model, -1)
    if not has_more then fair.dequeue(turn, model, user, topic) end
end

local FAILED_MAX = 1000 -- failed queries that operators can list

-- Ends a query that is Open or Pending as Failed ("F") or Cancelled ("C"). `is_lease_over`: the caller
-- has ended its lease, or will. `fault` (may be nil): the error of its engine. Returns whether it ended the lease.
local function end_query(turn, topic, seq, kind, reason, is_lease_over, fault)
    local P = turn.prefix
    local key = P .. 't:' .. topic
    local got = call('HMGET', key, 's:' .. seq, 'q:' .. seq, 'w:' .. seq, 'g:' .. seq)
    bounds.note_read(turn, 0, #(got[2] or ''))
    local lease, _, _, n = records.parse_pending(got[1])
    local state, is_ended = kind .. ' ' .. reason, false
    if got[4] then charges.charge_unanswered(turn, topic, seq, got[1], got[2], got[4], kind == 'F') end
    call('HSET', key, 's:' .. seq, state, 'w:' .. seq, '')
    if fault then call('HSET', key, 'a:' .. seq, fault) end
    if not lease then
        leave_open(turn, topic, seq)
    elseif not is_lease_over then
        is_ended = leave_lease(turn, topic, lease, n)
    end
    if lease and kind == 'C' then
        local earlier = call('HGET', key, 'c:' .. lease)
        call('HSET', key, 'c:' .. lease, earlier and earlier .. ',' .. seq or seq)
    end
    if kind == 'F' then
        call('ZADD', P .. 'failed', turn.now_ms, topic .. ' ' .. seq)
        call('ZREMRANGEBYRANK', P .. 'failed', 0, -FAILED_MAX - 1)
        local stat = P .. 'stat:' .. floor(turn.now_s / 60)
        call('HINCRBY', stat, 'failed', 1)
        call('EXPIRE', stat, STAT_S)
    end
    if lease then records.count_ended(turn, topic, {seq}) end
    call('DEL', P .. 'partials:' .. topic .. ':' .. seq)
    waiters.notify(turn, topic, seq, got[3], as_event(topic, seq, got[2], state, fault))
    return is_ended
end

local LOST_REASON = '"Its engine was lost in the middle of the answer."'
local LOST = '{"status":500,"message":"The engine was lost in the middle of the answer, and no other one could '
    .. 'continue it.","type":"server_error","param":null,"code":"engine_lost"}'

-- Gives Pending rows back after a claim ended without an answer: Open again at the front, or
-- Failed once their attempts are used up. The caller has ended the lease, or will.
local function return_rows(turn, topic, seqs, attempts, reason)
    local P = turn.prefix
    local again, used = {}, {}
    for i = 1, #seqs do
        if attempts[i] >= turn.settings.max_attempts then
            end_query(turn, topic, seqs[i], 'F', reason, true)
        elseif continuing.is_over(turn, topic, seqs[i]) then
            end_query(turn, topic, seqs[i], 'F', LOST_REASON, true, LOST)
        else
            again[#again + 1] = seqs[i]
            used[#used + 1] = attempts[i]
            local waiting = call('HGET', P .. 't:' .. topic, 'w:' .. seqs[i])
            waiters.notify(turn, topic, seqs[i], waiting, 'changed\n' .. topic .. '\n' .. seqs[i])
        end
    end
    continuing.return_seqs(turn, topic, again)
    if #again > 0 then claims.reopen(turn, topic, again, used) end
end

return {
    as_text = as_text, as_event = as_event, leave_lease = leave_lease, leave_open = leave_open, end_query = end_query,
    return_rows = return_rows,
}
