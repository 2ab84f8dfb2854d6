-- batch_due: is there anything for batch_take on this shard? Nodes ask every second or two, with a turn that is sent
-- anyway.
-- KEYS: turn/due.lua with batches_due, batch:<id>, batches_done, files_due, clock.
-- Wakes: nobody.
-- Bound: one; 20 turns of turn/due.lua; once after Redis's clock went back, LATE_MAX rows.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments: none.
-- Replies: 0 | 1
local batches = require('batches/batches')
local due = require('turn/due')
local instants = require('turn/instants')
local leased = require('turn/leased')

local function verb(turn, a)
    local P = turn.prefix
    if instants.has_gone_back(turn, 'batches') then leased.end_late(turn, batches.KIND) end
    local is_due = leased.is_any(turn, batches.KIND) or due.has_until(P .. 'files_due', turn.now_ms)
        or due.has_until(P .. 'batches_done', turn.now_ms - batches.KEPT_MS)
    return is_due and '1' or '0'
end

return {batch_due = verb}
