-- watch_indexing_again: renews this node's registration as a watcher of a space.
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
