-- watch_indexing_again: somebody still watches that space on this node.
-- KEYS: watchers:<space> zset.
-- Wakes: nobody.
-- Bound: one space.
-- Lane: read.  Home: space.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   space  name
-- Replies: ok
local watchers = require('documents/watchers')

local function verb(turn, a)
    --- arguments
    watchers.add(turn, space)
    return 'ok'
end

return {watch_indexing_again = verb}
