-- rename: sets a user's own name for one of its topics.
-- KEYS: t:<topic>, names:<user> hash.
-- Wakes: nobody.
-- Bound: one name.
-- Lane: first.  Home: topic.  Nonce: yes.  Full: refused.  Durable: yes.
-- Repeatable: yes.
-- Arguments:
--   user   name
--   topic  name
--   name   json 8k
-- Replies: ok | forbidden (no such topic of that user) | replay
local call = redis.call

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    if call('HEXISTS', P .. 't:' .. topic, 'u:' .. user) == 0 then return 'forbidden' end
    call('HSET', P .. 'names:' .. user, topic, name)
    return 'ok'
end

return {rename = verb}
