-- node_leave: a node ends. It leaves the list of nodes, with its credits, and states nothing afterwards.
-- KEYS: queue/nodes.lua; idle, idle_lookups.
-- Wakes: nobody.
-- Bound: all credits of all nodes.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments: none.
-- Replies: ok
local idle = require('queue/idle')
local nodes = require('queue/nodes')

local function verb(turn)
    -- What this turn has read of them would be written at its end.
    idle.strike_off(turn, idle.QUERIES, turn.node)
    idle.strike_off(turn, idle.LOOKUPS, turn.node)
    nodes.leave(turn, turn.node)
    return 'ok'
end

return {node_leave = verb}
