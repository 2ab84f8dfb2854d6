-- restore_begin: numbers that rise go on above all that the backup's cluster gave: its leases, the generations of
-- documents and the versions of spaces. An engine or a node that remembers one of that cluster's meets none again.
-- KEYS: meta.  ARGV: lease (no number at or below it is given from here on).
-- Returns: ok.  Wakes: nobody.  Repeatable: yes.
-- Bound: one number.
verbs.restore_begin = function(a)
    local m = meta_load()
    m.lease = max(m.lease, tonumber(args[a]))
    meta_dirty = true
    return 'ok'
end
