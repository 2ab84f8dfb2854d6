-- workflow_delete: deletes the runs of a user with their sessions, questions and answers, a bounded part per call.
-- Called until it answers done.
-- Stops this race: a node drives one of these runs (its next step is lost).
-- KEYS: wf_of:<user>, wf:<session>, wfr:<session>.<run>, wff:, wfs:, wfa:, wfq:, wfw:<session>, wf_due, wf_done,
--   wf_open, wf_ask:<who>, wf_asked:<who>, wf_file:<version>, stored.
-- Wakes: nobody.
-- Bound: ROWS_MAX rows; a run counts as one, and one more for each approver of a question and each request id.
-- Lane: slow.  Home: every.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   user  name
-- Replies: replay | more/runs that are gone | done/runs that are gone
local removal = require('workflow/removal')
local bounds = require('turn/bounds')
local call = redis.call
local format = string.format

local ROWS_MAX = 5000
local COMMANDS = 3 -- for a row

local function verb(turn, a)
    --- arguments
    local key, left, n = turn.prefix .. 'wf_of:' .. user, {rows = ROWS_MAX}, 0
    local is_done = false
    while left.rows > 0 and not is_done do
        local id = call('ZRANGE', key, 0, 0)[1]
        is_done = not id
        if id and removal.drop(turn, id, left) then
            call('ZREM', key, id)
            n = n + 1
        end
    end
    bounds.note_read(turn, COMMANDS * (ROWS_MAX - left.rows), 0)
    return (is_done and 'done\n' or 'more\n') .. format('%d', n)
end

return {workflow_delete = verb}
