-- batch_take: gives batches to this node that no node holds: new ones, and those of a node that died. Their accounts
-- and users take turns (turn/due.lua). Also deletes batches that ended 30 days ago, and files that have expired.
-- Stops this race: two nodes take the same batch (the first one's fence moves its time). A batch that ends every node
-- that takes it is taken less and less often.
-- KEYS: turn/due.lua with batches_due, batches_done, batches_all, batch:<id>; of files that expire as file_delete.
-- Wakes: nobody.
-- Bound: as many batches as its argument says, TAKE_MAX at most; deletes DROP_MAX batches and files.
-- Lane: slow.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: takes more.
-- Arguments:
--   limit  number
-- Replies: (per batch 4 lines: its id, <owner>-<batch>/its fence/account/user)
local batches = require('batches/batches')
local files = require('files/files')
local leased = require('turn/leased')
local concat = table.concat
local min = math.min

local TAKE_MAX, DROP_MAX = 20, 20

local function verb(turn, a)
    --- arguments
    local KIND = batches.KIND
    local taken = leased.take(turn, KIND, min(limit, TAKE_MAX), function(id)
        local b = batches.read(turn, id)
        if not b or not batches.OPEN[b.status] then return nil end
        return concat({b.id, leased.give_carefully(turn, KIND, b), b.account, b.user}, '\n')
    end)
    batches.sweep(turn, DROP_MAX)
    files.sweep(turn, DROP_MAX)
    return taken
end

return {batch_take = verb}
