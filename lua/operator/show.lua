-- show: delivers one node's state to the `parley show` that asked for it (services/node/show.h).
-- KEYS: shown:<ask> list.
-- Wakes: who blocks on that list.
-- Bound: one part; of one question SHOWN_MAX parts, for SHOWN_S seconds.
-- Lane: read.  Home: cluster.  Nonce: no.  Full: runs.
-- Repeatable: no, the part would come twice.
-- Arguments:
--   ask   name       what the question is called
--   part  text 128k  node / '' or what was left out / its rows
-- Replies: ok | full
local call = redis.call

local SHOWN_MAX, SHOWN_S = 1000, 10

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local key = P .. 'shown:' .. ask
    if call('LLEN', key) >= SHOWN_MAX then return 'full' end
    call('RPUSH', key, part)
    call('EXPIRE', key, SHOWN_S)
    return 'ok'
end

return {show = verb}
