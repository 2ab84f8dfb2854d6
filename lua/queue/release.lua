-- release: an engine gives a claim back, to be tried again or to fail.
-- KEYS: t:<topic>, leases.
-- ARGV: nonce, topic, lease ('': the row with that text), holder, query (JSON, for lease ''),
--   reason (JSON), is_retry ('1', '0', or 'away': no answer failed, the engine or its model is away: the attempt
--   does not count, AWAY_MAX times a query: an engine cannot pass a query round indefinitely).
-- Returns: ok | lost | replay
-- Wakes: one parked poll a claim, by hand-over; waiters of what failed.
-- Repeatable: the second time it is lost.
-- Bound: one claim (CLAIM_MAX queries, REPLY_BYTES); of one found by its text LOOK_BYTES are read.
local AWAY_MAX = 20

-- Takes the attempt back of those that are not given back for the AWAY_MAX-th time.
local function uncount(key, seqs, attempts)
    for i = 1, #seqs do
        if call('HINCRBY', key, 'b:' .. seqs[i], 1) <= AWAY_MAX then attempts[i] = attempts[i] - 1 end
    end
end

verbs.release = function(a)
    if is_replayed(args[a]) then return 'replay' end
    local topic, lease, holder, query = args[a + 1], args[a + 2], args[a + 3], args[a + 4]
    local reason, is_retry = args[a + 5], args[a + 6] ~= '0'
    local key = P .. 't:' .. topic
    if call('EXISTS', key) == 0 then return 'lost' end
    local seqs, attempts, attempt, n, _
    if lease == '' then
        local seq = find_held_text(topic, holder, query)
        if not seq then return 'lost' end
        lease, attempt, _, n = parse_pending(call('HGET', key, 's:' .. seq))
        seqs, attempts = {seq}, {attempt}
    else
        seqs, attempts = held_by(topic, lease, holder)
        if #seqs == 0 then return 'lost' end
        call('HDEL', key, 'l:' .. lease)
        end_lease(lease, topic)
    end
    if args[a + 6] == 'away' then uncount(key, seqs, attempts) end
    if is_retry then
        return_rows(topic, seqs, attempts, reason)
    else
        for i = 1, #seqs do end_query(topic, seqs[i], 'F', reason, true) end
    end
    if n then leave_lease(topic, lease, n) end -- its other queries stay with their engine
    return 'ok'
end
