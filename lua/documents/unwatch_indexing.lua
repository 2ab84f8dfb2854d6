-- unwatch_indexing: nobody watches that space on this node any more.
-- KEYS: watchers:<space> zset.  ARGV: space.  Returns: ok.  Wakes: nobody.  Repeatable: yes.
-- Bound: one space.
verbs.unwatch_indexing = function(a)
    call('ZREM', P .. 'watchers:' .. args[a], node)
    return 'ok'
end
