-- supersede: an engine that names itself has one poll; its newer one ends the older, on any node.
-- KEYS: poll:<account>:<engine> string with TTL ("<node> <poll>").  ARGV: account, engine, poll ('0': one that
--   does not wait; it ends nothing but the engine's rest).
-- Returns: ok.  Wakes: the node that holds the older poll, this one too (its older poll may be of
--   another class).  Repeatable: yes.
-- Bound: one poll.
local POLL_S = 300 -- no poll is parked longer

-- Ends a poll as poll:<account>:<engine> holds it, if that is one.
local function end_poll(poll, account, engine)
    if not poll or poll == AWAY then return end
    local at, number = match(poll, '^(%S+) (%S+)$')
    send_event(at, 'supersede\n' .. account .. '\n' .. engine .. '\n' .. number)
end

verbs.supersede = function(a)
    local account, engine, poll = args[a], args[a + 1], args[a + 2]
    if poll == '0' then
        local key = P .. 'poll:' .. account .. ':' .. engine
        if call('GET', key) == AWAY then call('DEL', key) end
        return 'ok'
    end
    local older = call('SET', P .. 'poll:' .. account .. ':' .. engine, node .. ' ' .. poll, 'GET', 'EX', POLL_S)
    if older ~= node .. ' ' .. poll then end_poll(older, account, engine) end
    return 'ok'
end
