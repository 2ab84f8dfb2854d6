-- room_usage: counts what a user has in rooms of this shard.
-- KEYS: rooms_of:<user>, messages_of.
-- Wakes: nobody.
-- Bound: one user.
-- Lane: read.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   user  name
-- Replies: ok/rooms in which it has a part/messages
local call = redis.call

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    return 'ok\n' .. call('ZCARD', P .. 'rooms_of:' .. user) .. '\n' .. (call('HGET', P .. 'messages_of', user) or 0)
end

return {room_usage = verb}
