-- away: an engine takes nothing for a while, because its model rests, or it leaves. Its parked poll ends, so no
-- hand-over finds it, and `engines` says so: who asks (queue/ask.lua) need not wait for it.
-- KEYS: poll:<account>:<engine> (`away` until its next poll), engines.
-- ARGV: nonce, account, engine, rest ms ('0': it leaves), the rest of what operators see of it: `,"…":…}`.
-- Returns: ok | replay
-- Wakes: the node that holds its poll.  Repeatable: with a new nonce; its next poll ends the rest.
-- Bound: one engine; a new one reads all of the hash engines, ENGINES_MAX.
-- What nodes have still to say of its polls before that (queue/sync.lua) is older news, for so long.
local AWAY_S = 60

verbs.away = function(a)
    if is_replayed(args[a]) then return 'replay' end
    local account, engine, rest_ms = args[a + 1], args[a + 2], tonumber(args[a + 3])
    local poll = call('SET', P .. 'poll:' .. account .. ':' .. engine, AWAY, 'GET', 'EX', AWAY_S)
    end_poll(poll, account, engine)
    local name = account .. ' ' .. engine
    if rest_ms == 0 then
        call('HDEL', P .. 'engines', name)
    else
        local info = format('%d {"RestingUntilMs":%d', now_ms, now_ms + rest_ms) .. args[a + 4]
        if call('HSET', P .. 'engines', name, info) == 1 then forget_engines() end
    end
    return 'ok'
end
