-- supersede: handles the poll of a named engine whose account is drained, which gets no claim: it ends the engine's
--   older poll. Otherwise `claim` does this.
-- KEYS: poll:<account>:<engine> string with TTL ("<node> <poll>").
-- Wakes: the node that holds the engine's older poll, this one too.
-- Bound: one poll.
-- Lane: first.  Home: engine.  Nonce: yes.  Full: refused.
-- Repeatable: with a new nonce.
-- Arguments:
--   account  name
--   engine   name
--   poll     digits  0: one that does not wait; it ends nothing but the engine's rest
-- Replies: ok | replay
local presence = require('queue/presence')

local function verb(turn, a)
    --- arguments
    presence.note_poll(turn, account, engine, poll)
    return 'ok'
end

return {supersede = verb}
