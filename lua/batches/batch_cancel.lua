-- batch_cancel: a batch is cancelled. The node that holds it ends it (batch_end), or the next one that takes it.
-- KEYS: batch:<id>.
-- Wakes: the node that holds it.
-- Bound: one batch.
-- Lane: first.  Home: owner.  Nonce: yes.  Full: runs.  Durable: yes.
-- Repeatable: yes.
-- Arguments:
--   owner    name
--   account  name
--   user     name
--   batch    name
-- Replies: ok, then 20 lines as batches.as_text | missing | ended/status | replay
local batches = require('batches/batches')
local events = require('turn/events')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local b = batches.read_of(turn, owner .. '-' .. batch, account, user)
    if not b then return 'missing' end
    if not batches.OPEN[b.status] and b.status ~= 'cancelled' then return 'ended\n' .. b.status end
    if b.status == 'validating' or b.status == 'in_progress' then
        call('HSET', b.key, 'status', 'cancelling', 'cancelling_at', turn.now_text)
        if b.node then events.send(turn, b.node, 'batch\n' .. b.id) end
    end
    return 'ok\n' .. batches.as_text(turn, b.id)
end

return {batch_cancel = verb}
