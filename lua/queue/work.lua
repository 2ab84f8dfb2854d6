-- work: notifies another node of a query, after the notified node had no poll left for it.
-- KEYS: hints zset, quiet:<model> string with TTL, turns:<model>, falls zset.
-- Wakes: one node.
-- Bound: HINTS_KEPT hints, a message to each of their nodes that is gone.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   model  name
--   tried  text 1k  nodes that had none, with this one: ",a,b,"
--   hops   number   how often it was passed on, with this time
-- Replies: ok
local hints = require('queue/hints')

local function verb(turn, a)
    --- arguments
    hints.call_for(turn, model, tried, hops)
    return 'ok'
end

return {work = verb}
