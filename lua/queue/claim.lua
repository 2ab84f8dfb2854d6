-- claim: the next claim for an engine's poll, or its poll is parked as a credit.
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
local claims = require('queue/claims')
local hints = require('queue/hints')
local idle = require('queue/idle')
local presence = require('queue/presence')

local function verb(turn, a)
    --- arguments
    local entry = idle.own_entry(turn, class)
    if engine ~= '' and entry.account then presence.note_poll(turn, entry.account, engine, poll) end
    local looks_before = turn.looks
    local text = claims.next_claim(turn, entry)
    turn.looks = looks_before -- it was asked for; what this turn hands over unasked is counted alone
    if text then return 'claim\n' .. text end
    hints.end_quiet(turn)
    if not is_parking then return 'empty' end
    if turn.is_sharded then hints.state(turn, class) end
    idle.grant(entry)
    return 'parked'
end

return {claim = verb}
