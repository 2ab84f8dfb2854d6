-- release: an engine gives a claim back, to be retried or to fail.
-- KEYS: t:<topic>, leases, lease:<id>.
-- Wakes: one parked poll a claim, by hand-over; waiters of what failed.
-- Bound: one claim (CLAIM_MAX queries, REPLY_BYTES); of one found by its text LOOK_BYTES are read.
-- Lane: first.  Home: topic.  Nonce: yes.  Full: runs.
-- Repeatable: the second time it is lost.
-- Arguments:
--   topic    name
--   lease    text? 20               without: the query with that text
--   holder   name                   account
--   query    json? 2m               for a release without a lease
--   reason   json 8k
--   outcome  words retry|fail|away  away: no answer failed, the engine or its model is away: the attempt does not
--                                   count, AWAY_MAX times a query: an engine cannot pass a query round indefinitely
-- Replies: ok | lost | replay
local held = require('queue/held')
local leases = require('queue/leases')
local outcomes = require('queue/outcomes')
local records = require('queue/records')
local call = redis.call

local AWAY_MAX = 20

-- Takes the attempt back of those that are not given back for the AWAY_MAX-th time.
local function uncount(key, seqs, attempts)
    for i = 1, #seqs do
        if call('HINCRBY', key, 'b:' .. seqs[i], 1) <= AWAY_MAX then attempts[i] = attempts[i] - 1 end
    end
end

local function verb(turn, a)
    --- arguments
    local key = turn.prefix .. 't:' .. topic
    if call('EXISTS', key) == 0 then return 'lost' end
    local seqs, attempts, attempt, n, _
    if lease == '' then
        local seq = held.find_held_text(turn, topic, '', holder, query)
        if not seq then return 'lost' end
        lease, attempt, _, n = records.parse_pending(call('HGET', key, 's:' .. seq))
        seqs, attempts = {seq}, {attempt}
    else
        seqs, attempts = held.held_by(turn, topic, lease, holder)
        if #seqs == 0 then return 'lost' end
        call('HDEL', key, 'l:' .. lease)
        leases.finish(turn, lease, topic)
    end
    if outcome == 'away' then uncount(key, seqs, attempts) end
    if outcome ~= 'fail' then
        outcomes.return_rows(turn, topic, seqs, attempts, reason)
    else
        for i = 1, #seqs do outcomes.end_query(turn, topic, seqs[i], 'F', reason, true) end
    end
    if n then outcomes.leave_lease(turn, topic, lease, n) end -- its other queries stay with their engine
    return 'ok'
end

return {release = verb}
