-- batch_due: is there anything for batch_take on this shard? Nodes ask every second or two, with a turn that is sent
-- anyway.
-- KEYS: turn/due.lua with batches_due, batch:<id>, batches_done, files_due, clock.
-- Wakes: nobody.
-- Bound: one; 20 turns of turn/due.lua; once after Redis's clock went back, LATE_MAX rows.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   wants_age  flag  nodes are many: how long ago the last one asked
-- Replies: 0 | 1; with wants_age after it how many ms ago, '' if none did
local batches = require('batches/batches')
local due = require('turn/due')
local instants = require('turn/instants')
local leased = require('turn/leased')

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local has_gone_back, age_ms = instants.has_gone_back(turn, 'batches')
    if has_gone_back then leased.end_late(turn, batches.KIND) end
    local is_due = leased.is_any(turn, batches.KIND) or due.has_until(P .. 'files_due', turn.now_ms)
        or due.has_until(P .. 'batches_done', turn.now_ms - batches.KEPT_MS)
    local reply = is_due and '1' or '0'
    return wants_age and reply .. '\n' .. (age_ms or '') or reply
end

return {batch_due = verb}
