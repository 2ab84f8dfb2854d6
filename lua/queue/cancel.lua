-- cancel: stops a query for good. Repeatable; refused once Done. Its engine hears of it with its next
-- partial or heartbeat, and its answer is refused.
-- KEYS: t:<topic>, leases, failed.
-- ARGV: nonce, topic, seq, user (name: must have a part in the topic; '' for any), reason (JSON).
-- Returns: ok | done | failed | missing | replay
-- Wakes: every node that waits for the query.  Repeatable: yes.
-- Bound: one query, and the `open` field of its topic (TOPIC_OPEN_BYTES).
verbs.cancel = function(a)
    if is_replayed(args[a]) then return 'replay' end
    local topic, seq, user, reason = args[a + 1], args[a + 2], args[a + 3], args[a + 4]
    local got = call('HMGET', P .. 't:' .. topic, 'q:' .. seq, 's:' .. seq, 'u:' .. user)
    if not got[1] or (user ~= '' and not got[3]) then return 'missing' end
    local first = got[2] and byte(got[2])
    if first == 68 then return 'done' end
    if first == 70 then return 'failed' end
    if first ~= 67 then end_query(topic, seq, 'C', reason) end
    return 'ok'
end
