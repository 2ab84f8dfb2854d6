-- delivered: the claims' bytes were written to their engines: the delivery lease becomes a whole
-- one. XX: a lease that ended meanwhile is not brought back.
-- KEYS: leases zset.  ARGV: any number of "<lease> <topic>".  Returns: ok.  Wakes: nobody.
-- Repeatable: yes.
-- Bound: the leases named.
verbs.delivered = function(a)
    for i = a, a + tonumber(args[a - 1]) - 1 do
        lease_kept[#lease_kept + 1] = lease_end_text
        lease_kept[#lease_kept + 1] = args[i]
    end
    return 'ok'
end
