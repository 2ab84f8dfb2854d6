-- response_cancel: cancels a response that runs in the background (queue/responses.lua).
-- KEYS: t:<topic>, leases, lease:<id>.
-- Wakes: every node that waits for it.
-- Bound: one query, and the `open` field of its topic.
-- Lane: first.  Home: topic.  Nonce: yes.  Full: runs.  Durable: yes.
-- Repeatable: yes.
-- Arguments:
--   topic    name
--   seq      digits
--   account  name
--   user     name
--   asker    name
-- Replies: ok (it has ended) | ok/ended (its claim's lease ended with it) | foreground | missing | replay
local outcomes = require('queue/outcomes')
local responses = require('queue/responses')

local REASON = '"Cancelled by its client."'

local function verb(turn, a)
    --- arguments
    local key, got = responses.response_of(turn, topic, seq, account, user, asker)
    if not key then return 'missing' end
    if not got.is_background then return 'foreground' end
    if responses.is_running(got.state) and outcomes.end_query(turn, topic, seq, 'C', REASON) then return 'ok\nended' end
    return 'ok'
end

return {response_cancel = verb}
