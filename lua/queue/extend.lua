-- extend: a heartbeat: the lease starts again, if it is still this one's.
-- KEYS: t:<topic>, leases.  ARGV: nonce, topic, lease, holder (account name).
-- Returns: ok/<cancelled Seqs, ','> | lost | replay
-- Wakes: nobody.  Repeatable: yes.
-- Bound: the states of one claim, or of what was added to the topic since.
verbs.extend = function(a)
    if is_replayed(args[a]) then return 'replay' end
    local topic, lease = args[a + 1], args[a + 2]
    local key = P .. 't:' .. topic
    if call('EXISTS', key) == 0 then return 'lost' end
    local cancelled = call('HGET', key, 'c:' .. lease)
    if #held_by(topic, lease, args[a + 3]) == 0 then
        if cancelled then return 'ok\n' .. cancelled end
        return 'lost'
    end
    lease_kept[#lease_kept + 1] = lease_end_text
    lease_kept[#lease_kept + 1] = lease .. ' ' .. topic
    return 'ok\n' .. (cancelled or '')
end
