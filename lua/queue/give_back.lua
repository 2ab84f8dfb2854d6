-- give_back: a claim that never reached an engine (its client left, no poll was parked) is Open
-- again at the front; the attempt does not count.
-- KEYS: t:<topic>, leases.  ARGV: topic, lease.  Returns: ok.
-- Wakes: one parked poll a claim, by hand-over.  Repeatable: yes; a lease that is gone is ignored.
-- Bound: one claim (CLAIM_MAX queries, REPLY_BYTES).
verbs.give_back = function(a)
    local topic, lease = args[a], args[a + 1]
    local seqs, attempts = held_by(topic, lease)
    if #seqs > 0 then
        for i = 1, #attempts do attempts[i] = attempts[i] - 1 end
        call('HDEL', P .. 't:' .. topic, 'l:' .. lease)
        end_lease(lease, topic)
        reopen(topic, seqs, attempts)
    end
    return 'ok'
end
