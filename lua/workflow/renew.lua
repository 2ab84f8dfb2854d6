-- workflow_renew: a sign of life of the node that drives these runs: they stay with it for another 6 s.
-- KEYS: wfr:<session>.<run>, wf_due.
-- Wakes: nobody.
-- Bound: 200 runs.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   each driven 200:
--     run_id  name    <session>.<run>
--     fence   digits
-- Replies: (the ids of runs that another node has, or that are over, each on a line)
local runs = require('workflow/runs')
local bounds = require('turn/bounds')
local call = redis.call
local concat = table.concat

local COMMANDS = 4 -- for a run

local function verb(turn, a)
    --- arguments
    local P, lost, until_ms = turn.prefix, {}, turn.now_ms + runs.LEASE_MS
    bounds.note_read(turn, COMMANDS * (driven_to - driven_from + 1) / 2, 0)
    for i = driven_from, driven_to, 2 do
        local id = args[i]
        local got = call('HMGET', P .. 'wfr:' .. id, 'fence', 'status', 'account', 'user')
        if got[1] == args[i + 1] and runs.DRIVEN[got[2]] then
            runs.look_at(turn, {id = id, account = got[3], user = got[4]}, until_ms)
        else
            lost[#lost + 1] = id
        end
    end
    return concat(lost, '\n')
end

return {workflow_renew = verb}
