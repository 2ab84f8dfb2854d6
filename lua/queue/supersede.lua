-- supersede: an engine that names itself has one poll; its newer one ends the older, on any node.
-- KEYS: poll:<account>:<engine> string with TTL ("<node> <poll>").
-- Wakes: the node that holds the older poll, this one too (its older poll may be of another class).
-- Bound: one poll.
-- Lane: first.  Home: every.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   account  name
--   engine   name
--   poll     digits  0: one that does not wait; it ends nothing but the engine's rest
-- Replies: ok
local POLL_S = 300 -- no poll is parked longer

-- Ends a poll as poll:<account>:<engine> holds it, if that is one.
local function end_poll(poll, account, engine)
    if not poll or poll == AWAY then return end
    local at, number = match(poll, '^(%S+) (%S+)$')
    send_event(at, 'supersede\n' .. account .. '\n' .. engine .. '\n' .. number)
end

verbs.supersede = function(a)
    --- arguments
    if poll == '0' then
        local key = P .. 'poll:' .. account .. ':' .. engine
        if call('GET', key) == AWAY then call('DEL', key) end
        return 'ok'
    end
    local older = call('SET', P .. 'poll:' .. account .. ':' .. engine, node .. ' ' .. poll, 'GET', 'EX', POLL_S)
    if older ~= node .. ' ' .. poll then end_poll(older, account, engine) end
    return 'ok'
end
