-- claim: returns the next claim for an engine's poll, or parks the poll as a credit.
-- Guarantees: all Open queries of the topic whose turn it is become Pending under one new lease.
-- KEYS: queue/fair.lua, queue/claims.lua, queue/idle.lua, queue/hints.lua, poll:<account>:<engine> string with TTL
--   ("<node> <poll>").
-- Wakes: the node that holds the engine's older poll, this one too.
-- Bound: one claim: CLAIM_MAX queries and REPLY_BYTES, but one query at least; MODELS_MAX models looked at.
-- Lane: claim.  Home: every.  Nonce: yes.  Full: refused.
-- Repeatable: with a new nonce.
-- Arguments:
--   class       text 4k  "<account>|<models>"
--   is_parking  flag     grant a credit when there is no work
--   engine      name?    which of its account, if it names itself: it has one poll, and the newer one ends the older
--   poll        digits?  of `engine`; 0: it does not wait, and ends nothing but the engine's rest
-- Replies: claim/<claim as text> | parked | empty | replay
local polls = require('queue/polls')

local function verb(turn, a)
    --- arguments
    return polls.claim(turn, class, is_parking, engine, poll)
end

return {claim = verb}
