-- watch_indexing_again: somebody still watches that space on this node.
-- KEYS: watchers:<space> zset.  ARGV: space.  Returns: ok.  Wakes: nobody.  Repeatable: yes.
-- Bound: one space.
verbs.watch_indexing_again = function(a)
    watch(args[a])
    return 'ok'
end
