-- delivery_unpoll: this node has no parked poll of a bot any more.
-- KEYS: dlv_polls:<bot>.
-- Wakes: nobody.
-- Bound: one.
-- Lane: read.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   bot  name
-- Replies: ok
local call = redis.call

local function verb(turn, a)
    --- arguments
    call('ZREM', turn.prefix .. 'dlv_polls:' .. bot, turn.node)
    return 'ok'
end

return {delivery_unpoll = verb}
