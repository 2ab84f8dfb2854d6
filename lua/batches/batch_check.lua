-- batch_check: the node has read all lines of a batch: it is in progress, or has failed because of some of them.
-- Stops this race: another node has it by now, or it was cancelled meanwhile.
-- KEYS: batch:<id>, batches_open, batches_n, batches_done, turn/due.lua with batches_due.
-- Wakes: nobody.
-- Bound: one batch.
-- Lane: first.  Home: owner.  Nonce: no.  Full: runs.  Durable: yes.
-- Repeatable: yes.
-- Arguments:
--   owner   name
--   batch   name
--   fence   digits
--   total   number
--   errors  json? 64k  a list of errors
-- Replies: ok/status | lost
local batches = require('batches/batches')
local leased = require('turn/leased')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local b = batches.read_held(turn, owner .. '-' .. batch, fence)
    if not b then return 'lost' end
    call('HSET', b.key, 'taken', 0)
    if b.status ~= 'validating' then return 'ok\n' .. b.status end
    if errors ~= '' then
        call('HSET', b.key, 'errors', errors)
        batches.finish(turn, b, 'failed')
    else
        b.status = 'in_progress'
        call('HSET', b.key, 'status', b.status, 'in_progress', turn.now_text, 'total', total)
        batches.count_lines(turn, total)
        leased.keep(turn, batches.KIND, b)
    end
    return 'ok\n' .. b.status
end

return {batch_check = verb}
