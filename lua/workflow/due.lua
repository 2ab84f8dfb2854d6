-- workflow_due: is there anything for workflow_take on this shard? Nodes ask every second or two, with a turn that is
-- sent anyway, so that idle nodes cost Redis no call of their own.
-- KEYS: turn/due.lua with wf_due, wf_done, wf_files, clock; wfr:<session>.<run>.
-- Wakes: nobody.
-- Bound: one; 20 turns of turn/due.lua; once after Redis's clock went back, LATE_MAX rows.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   keep_ms    number?  as for workflow_take
--   wants_age  flag     nodes are many: how long ago the last one asked
-- Replies: 0 | 1; with wants_age after it how many ms ago, '' if none did
local due = require('turn/due')
local instants = require('turn/instants')
local leased = require('turn/leased')
local files = require('workflow/files')
local runs = require('workflow/runs')

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local has_gone_back, age_ms = instants.has_gone_back(turn, 'workflow')
    if has_gone_back then leased.end_late(turn, runs.KIND) end
    local is_due = leased.is_any(turn, runs.KIND) or due.has_until(P .. 'wf_files', turn.now_ms - files.UNUSED_MS)
    local is_old = keep_ms and due.has_until(P .. 'wf_done', turn.now_ms - keep_ms)
    local reply = (is_due or is_old) and '1' or '0'
    return wants_age and reply .. '\n' .. (age_ms or '') or reply
end

return {workflow_due = verb}
