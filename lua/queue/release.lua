-- release: an engine gives a claim back, to be retried or to fail.
-- KEYS: t:<topic>, leases, lease:<id>.
-- Wakes: one parked poll a claim, by hand-over; waiters of what failed.
-- Bound: one claim (CLAIM_MAX queries, REPLY_BYTES); of one found by its text SCAN_BYTES are read.
-- Lane: first.  Home: topic.  Nonce: yes.  Full: runs.
-- Repeatable: the second time it is lost.
-- Arguments:
--   topic    name
--   lease    text? 20               without: the query with that text
--   holder   name                   account
--   query    json? 2m               for a release without a lease
--   reason   json 8k
--   outcome  words retry|fail|away  away: no answer failed, the engine or its model is away: the attempt does not
--                                   count (queue/uncounted.lua)
--   seq      text? 20               with a lease: the query that failed. Retry: the attempt counts for it alone. Fail:
--                                   it alone is given back, the lease continues for the others
--   fault    json? 8k               of a query of a door that failed: the error that its client gets
-- Replies: ok | ok/- (its lease continues) | lost | replay
local held = require('queue/held')
local leases = require('queue/leases')
local outcomes = require('queue/outcomes')
local records = require('queue/records')
local uncounted = require('queue/uncounted')
local call = redis.call

-- A query that `holder` holds, under `lease` if one is named: its lease, attempt and n. Nothing if it does not.
local function one_held(key, seq, lease, holder)
    local holding, attempt, by, n = records.parse_pending(call('HGET', key, 's:' .. seq))
    if by == holder and (lease == '' or lease == holding) then return holding, attempt, n end
end

-- All that is held under a lease, which ends. With `failed`, a Seq, the others get their attempt back: how often they
-- may come back is bounded by the attempts of that one.
local function take_all(turn, topic, lease, holder, failed)
    local seqs, attempts = held.held_by(turn, topic, lease, holder)
    if #seqs == 0 then return nil end
    for i = 1, #seqs do
        if failed and seqs[i] ~= failed then attempts[i] = attempts[i] - 1 end
    end
    call('HDEL', turn.prefix .. 't:' .. topic, 'l:' .. lease)
    leases.finish(turn, lease, topic)
    return seqs, attempts
end

local function verb(turn, a)
    --- arguments
    local key = turn.prefix .. 't:' .. topic
    if call('EXISTS', key) == 0 then return 'lost' end
    local is_named, is_one = seq ~= '', lease == '' or (seq ~= '' and outcome == 'fail')
    local one = lease == '' and held.find_held_text(turn, topic, '', holder, query) or seq
    local seqs, attempts, holding, attempt, n
    if is_named or is_one then
        holding, attempt, n = one_held(key, one, lease, holder)
        if not holding then return 'lost' end
        seqs, attempts = {one}, {attempt}
    end
    if not is_one then
        seqs, attempts = take_all(turn, topic, lease, holder, is_named and outcome == 'retry' and one)
        if not seqs then return 'lost' end
    end
    local has_fault = fault ~= ''
    if outcome == 'away' then uncounted.take_back(key, seqs, attempts) end
    if outcome ~= 'fail' then
        outcomes.return_rows(turn, topic, seqs, attempts, reason)
    else
        for i = 1, #seqs do outcomes.end_query(turn, topic, seqs[i], 'F', reason, true, has_fault and fault) end
    end
    -- Its other queries stay with their engine.
    return is_one and not outcomes.leave_lease(turn, topic, holding, n) and 'ok\n-' or 'ok'
end

return {release = verb}
