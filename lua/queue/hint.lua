-- hint: records that a node has a poll of a class whose credit is on another shard, and claims queries that are already
--   Open here for it.
-- KEYS: hints zset, queue/claims.lua.
-- Wakes: nobody.
-- Bound: one claim.
-- Lane: claim.  Home: every.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   class  text 4k
-- Replies: claim/<claim as text> | empty
local hints = require('queue/hints')
local idle = require('queue/idle')
local polls = require('queue/polls')

local function verb(turn, a)
    --- arguments
    hints.state(turn, class)
    return polls.next_claim(turn, idle.own_entry(turn, class)) or 'empty'
end

return {hint = verb}
