-- restore_begin: numbers that rise go on above all that the backup's cluster gave: its leases, the generations of
-- documents and the versions of spaces. An engine or a node that remembers one of that cluster's meets none again.
-- Stops these races: two restores find the same Redis empty, and a node starts while one runs: what finds
-- `restoring` does not begin (shared/redis/start.c). It is there until the restore's end, so also after one that
-- was cut short.
-- KEYS: meta, restoring string.  ARGV: lease (no number at or below it is given from here on), id of this restore.
-- Returns: ok | other (another restore has begun).  Wakes: nobody.  Repeatable: yes.
-- Bound: one number, one key.
verbs.restore_begin = function(a)
    local key = P .. 'restoring'
    call('SETNX', key, args[a + 1])
    if call('GET', key) ~= args[a + 1] then return 'other' end
    local m = meta_load()
    m.lease = max(m.lease, tonumber(args[a]))
    meta_dirty = true
    return 'ok'
end
