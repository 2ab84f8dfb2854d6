-- batch_release: a node gives back a batch. Another one may take it after that time, and that this one had it does not
-- count as a take without a turn.
-- Stops this race: another node has it by now (lost).
-- KEYS: batch:<id>, turn/due.lua with batches_due.
-- Wakes: nobody.
-- Bound: one batch.
-- Lane: first.  Home: owner.  Nonce: no.  Full: runs.
-- Repeatable: until another node has it.
-- Arguments:
--   owner     name
--   batch     name
--   fence     digits
--   after_ms  number
-- Replies: ok | lost
local batches = require('batches/batches')
local leased = require('turn/leased')

local function verb(turn, a)
    --- arguments
    local b = batches.read_held(turn, owner .. '-' .. batch, fence)
    if not b then return 'lost' end
    leased.give_back(turn, batches.KIND, b, after_ms)
    return 'ok'
end

return {batch_release = verb}
