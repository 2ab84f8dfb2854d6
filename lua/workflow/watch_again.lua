-- workflow_watch_again: keeps this node a watcher of a session for another 60 s.
-- KEYS: wfw:<session>.
-- Wakes: nobody.
-- Bound: one session.
-- Lane: read.  Home: session.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   session  name
-- Replies: ok
local watching = require('workflow/watching')

local function verb(turn, a)
    --- arguments
    watching.add(turn, session)
    return 'ok'
end

return {workflow_watch_again = verb}
