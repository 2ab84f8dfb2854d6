-- workflow_unwatch: removes this node from the watchers of a session.
-- KEYS: wfw:<session>.
-- Wakes: nobody.
-- Bound: one session.
-- Lane: read.  Home: session.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   session  name
-- Replies: ok
local call = redis.call

local function verb(turn, a)
    --- arguments
    call('ZREM', turn.prefix .. 'wfw:' .. session, turn.node)
    return 'ok'
end

return {workflow_unwatch = verb}
