-- evaluation_renew: a sign of life of the node that drives these runs: they stay with it for another 15 s.
-- KEYS: evaluation:<id>, evaluation_due.
-- Wakes: nobody.
-- Bound: 100 runs.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   each driven 100:
--     run_id  name    <evaluation>-<run>
--     fence   digits
-- Replies: (the ids of runs that another node has, or that are over, each on a line)
local evaluations = require('bots/evaluations')
local bounds = require('turn/bounds')
local call = redis.call
local concat = table.concat

local COMMANDS = 4 -- for a run

local function verb(turn, a)
    --- arguments
    local lost, until_ms = {}, turn.now_ms + evaluations.LEASE_MS
    bounds.note_read(turn, COMMANDS * (driven_to - driven_from + 1) / 2, 0)
    for i = driven_from, driven_to, 2 do
        local id = args[i]
        local got = call('HMGET', evaluations.key_of(turn, id), 'fence', 'status', 'account', 'user')
        if got[1] == args[i + 1] and got[2] == 'running' then
            evaluations.keep_until(turn, {id = id, account = got[3], user = got[4]}, until_ms)
        else
            lost[#lost + 1] = id
        end
    end
    return concat(lost, '\n')
end

return {evaluation_renew = verb}
