-- extend: a heartbeat: restarts the lease and its key if the engine still holds it.
-- KEYS: t:<topic>, leases, lease:<id>.
-- Wakes: nobody.
-- Bound: the states of one claim; without its key of LOOKBACK rows.
-- Lane: first.  Home: topic.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic   name
--   lease   text 20
--   holder  name     account
-- Replies: ok/<cancelled Seqs, ','> | lost | replay
local held = require('queue/held')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local cancelled = call('HGET', turn.prefix .. 't:' .. topic, 'c:' .. lease)
    if #held.held_by(turn, topic, lease, holder) == 0 then
        if cancelled then return 'ok\n' .. cancelled end
        return 'lost'
    end
    held.renew(turn, topic, lease, holder)
    return 'ok\n' .. (cancelled or '')
end

return {extend = verb}
