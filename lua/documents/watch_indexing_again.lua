-- watch_indexing_again: somebody still watches that space on this node.
-- KEYS: watchers:<space> zset.
-- Wakes: nobody.
-- Bound: one space.
-- Lane: read.  Home: space.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   space  name
-- Replies: ok
verbs.watch_indexing_again = function(a)
    --- arguments
    watch(space)
    return 'ok'
end
