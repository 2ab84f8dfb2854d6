-- give_back: returns a claim that never reached an engine (its client left, no poll was parked). Its queries are Open
--   again at the front; the attempt does not count. If bytes of it were on their way, that holds a bounded number of
--   times (queue/uncounted.lua): the query may be what ended the connection.
-- KEYS: t:<topic>, leases, lease:<id>.
-- Wakes: one parked poll a claim, by hand-over; waiters of what failed.
-- Bound: one claim (CLAIM_MAX queries, REPLY_BYTES).
-- Lane: first.  Home: topic.  Nonce: no.  Full: runs.
-- Repeatable: yes; a lease that is gone is ignored.
-- Arguments:
--   topic  name
--   lease  text 20
--   sent   flag     bytes of it were
-- Replies: ok
local claims = require('queue/claims')
local continuing = require('queue/continuing')
local held = require('queue/held')
local leases = require('queue/leases')
local outcomes = require('queue/outcomes')
local uncounted = require('queue/uncounted')
local call = redis.call

local REASON = '"The connection of its engine ended while the question was sent, each time."'

local function verb(turn, a)
    --- arguments
    local seqs, attempts = held.held_by(turn, topic, lease)
    if #seqs > 0 then
        local key = turn.prefix .. 't:' .. topic
        call('HDEL', key, 'l:' .. lease)
        leases.finish(turn, lease, topic)
        if sent then
            uncounted.take_back(key, seqs, attempts)
            outcomes.return_rows(turn, topic, seqs, attempts, REASON)
        else
            for i = 1, #attempts do attempts[i] = attempts[i] - 1 end
            continuing.return_seqs(turn, topic, seqs)
            claims.reopen(turn, topic, seqs, attempts)
        end
    end
    return 'ok'
end

return {give_back = verb}
