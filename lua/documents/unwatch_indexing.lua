-- unwatch_indexing: removes this node from the watchers of a space.
-- KEYS: watchers:<space> zset.
-- Wakes: nobody.
-- Bound: one space.
-- Lane: read.  Home: space.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   space  name
-- Replies: ok
local call = redis.call

local function verb(turn, a)
    --- arguments
    call('ZREM', turn.prefix .. 'watchers:' .. space, turn.node)
    return 'ok'
end

return {unwatch_indexing = verb}
