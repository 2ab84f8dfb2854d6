-- extend: a heartbeat: the lease starts again, if it is still this one's.
-- KEYS: t:<topic>, leases.
-- Wakes: nobody.
-- Bound: the states of one claim, or of what was added to the topic since.
-- Lane: first.  Home: topic.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic   name
--   lease   text 20
--   holder  name     account
-- Replies: ok/<cancelled Seqs, ','> | lost | replay
local held = require('queue/held')
local leases = require('queue/leases')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local key = turn.prefix .. 't:' .. topic
    if call('EXISTS', key) == 0 then return 'lost' end
    local cancelled = call('HGET', key, 'c:' .. lease)
    if #held.held_by(turn, topic, lease, holder) == 0 then
        if cancelled then return 'ok\n' .. cancelled end
        return 'lost'
    end
    leases.keep(turn, lease .. ' ' .. topic)
    return 'ok\n' .. (cancelled or '')
end

return {extend = verb}
