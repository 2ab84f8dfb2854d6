-- batch_end: ends a batch before all of its lines were answered, with the results that it has.
-- Stops this race: another node has it by now (lost).
-- KEYS: batch:<id>, batch_output:<id>, batch_errors:<id>, batches_open, batches_n, batches_done,
--   turn/due.lua with batches_due, and those of file_store.
-- Wakes: nobody.
-- Bound: one batch, none of its results.
-- Lane: first.  Home: owner.  Nonce: no.  Full: runs.  Durable: yes.
-- Repeatable: lost then.
-- Arguments:
--   owner   name
--   batch   name
--   fence   digits
--   how     words cancelled|expired|failed
--   errors  json? 64k  a list of errors
-- Replies: ok | lost
local batches = require('batches/batches')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local b = batches.read_held(turn, owner .. '-' .. batch, fence)
    if not b then return 'lost' end
    if errors ~= '' then call('HSET', b.key, 'errors', errors) end
    batches.finish(turn, b, how)
    return 'ok'
end

return {batch_end = verb}
