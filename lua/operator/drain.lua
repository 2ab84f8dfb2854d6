-- drain: stops or resumes new claims for an engine account. While drained, its polls are held and end empty; it
--   finishes its current work.
-- KEYS: drained set.
-- Wakes: all nodes.
-- Bound: the accounts.
-- Lane: first.  Home: cluster.  Nonce: yes.  Full: runs.  Durable: yes.
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
