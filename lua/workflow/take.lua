-- workflow_take: gives runs to this node whose time has passed: those of a node that died, and those whose question has
-- reached its deadline (still `waiting`: workflow_answer with how=deadline ends the question). Their accounts and users
-- take turns (turn/due.lua). Also deletes runs that ended longer ago than they are kept, and workflow files that no run
-- uses.
-- Stops this race: two nodes take the same run (the first one's fence moves its time). A run that ends every node that
-- takes it is taken less and less often.
-- KEYS: turn/due.lua with wf_due, wfr:<session>.<run>; wf_done and those of workflow_delete; wf_files,
--   wf_file:<version>.
-- Wakes: nobody.
-- Bound: as many runs as its argument says, 100 at most; deletes DROP_RUNS runs, DROP_ROWS rows, and 10 files.
-- Lane: slow.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: takes more.
-- Arguments:
--   limit    number
--   keep_ms  number?  how long runs are kept after their end; none: until their user is deleted
-- Replies: (per run 5 lines: its id, <session>.<run>/its fence/account/user: whose turn it takes/status)
local bounds = require('turn/bounds')
local leased = require('turn/leased')
local files = require('workflow/files')
local removal = require('workflow/removal')
local runs = require('workflow/runs')
local call = redis.call
local format = string.format
local concat = table.concat
local min = math.min

local COMMANDS = 6 -- for a row
local TAKE_MAX, DROP_RUNS, DROP_ROWS = 100, 20, 1000

local function drop_old(turn, before)
    local left = {rows = DROP_ROWS}
    for _, id in ipairs(call('ZRANGEBYSCORE', turn.prefix .. 'wf_done', '-inf', before, 'LIMIT', 0, DROP_RUNS)) do
        if left.rows <= 0 or not removal.drop(turn, id, left) then break end
    end
    bounds.note_read(turn, COMMANDS * (DROP_ROWS - left.rows), 0)
end

local function verb(turn, a)
    --- arguments
    local taken = leased.take(turn, runs.KIND, min(limit, TAKE_MAX), function(id)
        local r = runs.read(turn, runs.split(id))
        if not r or not runs.OPEN[r.status] then return nil end
        return concat({r.id, leased.give_carefully(turn, runs.KIND, r), r.account, r.user, r.status}, '\n')
    end)
    if keep_ms then drop_old(turn, format('%d', turn.now_ms - keep_ms)) end
    files.sweep(turn)
    return taken
end

return {workflow_take = verb}
