-- unwatch_indexing: nobody watches that space on this node any more.
-- KEYS: watchers:<space> zset.
-- Wakes: nobody.
-- Bound: one space.
-- Lane: read.  Home: space.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   space  name
-- Replies: ok
verbs.unwatch_indexing = function(a)
    --- arguments
    call('ZREM', P .. 'watchers:' .. space, node)
    return 'ok'
end
