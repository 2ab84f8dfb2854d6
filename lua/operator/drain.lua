-- drain: an engine account gets no new claims (its polls are held and end empty), or gets them again.
-- What it works on, it finishes.
-- KEYS: drained set.
-- Wakes: all nodes.
-- Bound: the accounts.
-- Lane: first.  Home: cluster.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   account     name
--   is_drained  flag
-- Replies: ok | replay
local events = require('turn/events')
local call = redis.call
local concat = table.concat

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    call(is_drained and 'SADD' or 'SREM', P .. 'drained', account)
    events.publish(turn, 'all', {'drained\n' .. concat(call('SMEMBERS', P .. 'drained'), ',')})
    return 'ok'
end

return {drain = verb}
