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
local presence = require('queue/presence')
local call = redis.call
local AWAY = presence.AWAY

local POLL_S = 300 -- no poll is parked longer

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    if poll == '0' then
        local key = P .. 'poll:' .. account .. ':' .. engine
        if call('GET', key) == AWAY then call('DEL', key) end
        return 'ok'
    end
    local older = call('SET', P .. 'poll:' .. account .. ':' .. engine, turn.node .. ' ' .. poll, 'GET', 'EX', POLL_S)
    if older ~= turn.node .. ' ' .. poll then presence.end_poll(turn, older, account, engine) end
    return 'ok'
end

return {supersede = verb}
