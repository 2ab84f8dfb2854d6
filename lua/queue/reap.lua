-- reap: claims whose lease has ended are Open again, at the front, or Failed when their attempts
-- are used up. A claim that never reached an engine has used none up, and the node that let it lie is
-- handed nothing more until it speaks again: a hanging node with many polls would otherwise get the same
-- query each time it comes back. Any node, any time: what is not due is not touched.
-- KEYS: leases zset, t:<topic>.  ARGV: none.
-- Returns: ms until the next lease ends (0: more are due), '' when there is none.
-- Wakes: one parked poll a claim, by hand-over; waiters of what failed.  Repeatable: yes.
-- Bound: REAP_MAX leases, ending with the one that reaches LOOK_BYTES of rows.
local REAP_MAX = 100

verbs.reap = function(a)
    flush_leases()
    local due = call('ZRANGEBYSCORE', P .. 'leases', '-inf', now_ms, 'WITHSCORES',
                     'LIMIT', 0, REAP_MAX)
    local bytes = 0
    for i = 1, #due, 2 do
        if bytes > LOOK_BYTES then break end
        local lease, topic = match(due[i], '^(%d+) (%S+)$')
        local seqs, attempts = held_by(topic, lease)
        for k = 1, #seqs do bytes = bytes + bytes_of(P .. 't:' .. topic, 'q:' .. seqs[k]) end
        if due[i + 1] % 2 == 1 and #seqs > 0 then
            for k = 1, #attempts do attempts[k] = attempts[k] - 1 end
            local _, _, _, _, to = parse_pending(call('HGET', P .. 't:' .. topic, 's:' .. seqs[1]))
            strike_off(to)
        end
        end_lease(lease, topic)
        call('HDEL', P .. 't:' .. topic, 'l:' .. lease)
        return_rows(topic, seqs, attempts, '"No answer came before the lease ended, in any attempt."')
    end
    flush_leases()
    local first = call('ZRANGE', P .. 'leases', 0, 0, 'WITHSCORES')[2]
    return first and format('%d', max(0, first - now_ms)) or ''
end
