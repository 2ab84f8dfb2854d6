-- give_back: returns a claim that never reached an engine (its client left, no poll was parked). Its queries are Open
--   again at the front; the attempt does not count.
-- KEYS: t:<topic>, leases, lease:<id>.
-- Wakes: one parked poll a claim, by hand-over.
-- Bound: one claim (CLAIM_MAX queries, REPLY_BYTES).
-- Lane: first.  Home: topic.  Nonce: no.  Full: runs.
-- Repeatable: yes; a lease that is gone is ignored.
-- Arguments:
--   topic  name
--   lease  text 20
-- Replies: ok
local claims = require('queue/claims')
local held = require('queue/held')
local leases = require('queue/leases')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local seqs, attempts = held.held_by(turn, topic, lease)
    if #seqs > 0 then
        for i = 1, #attempts do attempts[i] = attempts[i] - 1 end
        call('HDEL', turn.prefix .. 't:' .. topic, 'l:' .. lease)
        leases.finish(turn, lease, topic)
        claims.reopen(turn, topic, seqs, attempts)
    end
    return 'ok'
end

return {give_back = verb}
