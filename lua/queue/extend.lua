-- extend: a heartbeat: the lease starts again, if it is still this one's.
-- KEYS: t:<topic>, leases.
-- Wakes: nobody.
-- Bound: the states of one claim, or of what was added to the topic since.
-- Lane: first.  Home: topic.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic   name
--   lease   text 20
--   holder  name     account
-- Replies: ok/<cancelled Seqs, ','> | lost | replay
verbs.extend = function(a)
    --- arguments
    local key = P .. 't:' .. topic
    if call('EXISTS', key) == 0 then return 'lost' end
    local cancelled = call('HGET', key, 'c:' .. lease)
    if #held_by(topic, lease, holder) == 0 then
        if cancelled then return 'ok\n' .. cancelled end
        return 'lost'
    end
    lease_kept[#lease_kept + 1] = lease_end_text
    lease_kept[#lease_kept + 1] = lease .. ' ' .. topic
    return 'ok\n' .. (cancelled or '')
end
