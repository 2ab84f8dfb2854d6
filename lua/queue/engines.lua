-- engines: is an engine there now? What `ask` answered with `maybe` is asked again a moment later: an engine that
-- was between two polls has come back by then, one that hung up has not.
-- KEYS: idle, leases, engines.
-- Wakes: nobody.
-- Bound: ENGINES_MAX engines.
-- Lane: read.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments: none.
-- Replies: there | no_engine[/seconds until the first one has rested]
local presence = require('queue/presence')

local function verb(turn, a)
    local there, seconds = presence.engines_there(turn)
    return there == '' and 'there' or presence.no_engine(seconds)
end

return {engines = verb}
