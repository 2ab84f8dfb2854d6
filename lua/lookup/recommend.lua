-- recommend: keeps what a user recommends or flags, for engines to read.
-- KEYS: t:<topic>, recommendations stream (field r).
-- ARGV: nonce, topic, user (name; must have a part in the topic; '' for any), recommendation (JSON).
-- Returns: ok/ms | missing | replay.  Wakes: nobody.  Repeatable: stores it again.
local RECOMMENDATIONS_MAX = 10000

verbs.recommend = function(a)
    if is_replayed(args[a]) then return 'replay' end
    local got = call('HMGET', P .. 't:' .. args[a + 1], 'seq', 'u:' .. args[a + 2])
    if not got[1] or (args[a + 2] ~= '' and not got[2]) then return 'missing' end
    call('XADD', P .. 'recommendations', 'MAXLEN', '~', RECOMMENDATIONS_MAX, '*', 'r', args[a + 3])
    return 'ok\n' .. now_ms
end
