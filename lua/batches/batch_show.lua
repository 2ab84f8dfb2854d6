-- batch_show: returns a batch.
-- KEYS: batch:<id>.
-- Wakes: nobody.
-- Bound: one batch.
-- Lane: read.  Home: owner.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   owner    name
--   account  name
--   user     name
--   batch    name
-- Replies: ok, then 20 lines as batches.as_text | missing | replay
local batches = require('batches/batches')

local function verb(turn, a)
    --- arguments
    local id = owner .. '-' .. batch
    return batches.read_of(turn, id, account, user) and 'ok\n' .. batches.as_text(turn, id) or 'missing'
end

return {batch_show = verb}
