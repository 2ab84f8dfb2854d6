-- evaluation_list: returns a page of the runs of a user, newest first.
-- KEYS: evaluations_of:<user>, evaluation:<id>.
-- Wakes: nobody.
-- Bound: REPLY_BYTES, but one run at least; RUNS_PAGE runs; SCAN_RUNS that are looked at.
-- Lane: read.  Home: every.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   user     name
--   account  name?     only its runs
--   limit    number?   runs at most; RUNS_PAGE without
--   after    text? 600 cursor; from the newest on without
-- Replies: replay | ok/cursor of the next page ('' when there is none; a page may have no run and a cursor), then per
--   run 14 lines: its cursor, and 13 as of evaluation_read
local evaluations = require('bots/evaluations')
local bounds = require('turn/bounds')
local newest = require('turn/newest')
local concat = table.concat
local min = math.min
local REPLY_BYTES = bounds.REPLY_BYTES

local RUNS_PAGE, SCAN_RUNS = 100, 1000

local function verb(turn, a)
    --- arguments
    local text, bytes, n = {'ok', ''}, 0, 0
    local most = min(limit or RUNS_PAGE, RUNS_PAGE)
    text[2] = newest.walk(turn, {'evaluations_of:' .. user}, after, SCAN_RUNS, function(id, cursor)
        if n == most then return false end
        if account ~= '' and evaluations.field_of(turn, id, 'account') ~= account then return true end
        local e = evaluations.read(turn, id)
        if not e then return true end
        local lines = evaluations.lines(e)
        if n > 0 and bytes + #lines > REPLY_BYTES then return false end
        n, bytes = n + 1, bytes + #lines
        text[#text + 1] = cursor
        text[#text + 1] = lines
        return true
    end)
    return concat(text, '\n')
end

return {evaluation_list = verb}
