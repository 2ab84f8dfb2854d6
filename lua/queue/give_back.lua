-- give_back: a claim that never reached an engine (its client left, no poll was parked) is Open
-- again at the front; the attempt does not count.
-- KEYS: t:<topic>, leases.
-- Wakes: one parked poll a claim, by hand-over.
-- Bound: one claim (CLAIM_MAX queries, REPLY_BYTES).
-- Lane: first.  Home: topic.  Nonce: no.  Full: runs.
-- Repeatable: yes; a lease that is gone is ignored.
-- Arguments:
--   topic  name
--   lease  text 20
-- Replies: ok
verbs.give_back = function(a)
    --- arguments
    local seqs, attempts = held_by(topic, lease)
    if #seqs > 0 then
        for i = 1, #attempts do attempts[i] = attempts[i] - 1 end
        call('HDEL', P .. 't:' .. topic, 'l:' .. lease)
        end_lease(lease, topic)
        reopen(topic, seqs, attempts)
    end
    return 'ok'
end
