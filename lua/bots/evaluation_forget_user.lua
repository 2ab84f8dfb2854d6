-- evaluation_forget_user: deletes the runs of a user, a bounded part per call. Called until it answers done.
-- Stops this race: a node drives one of these runs (its next turn is lost).
-- KEYS: evaluations_of:<user>, evaluation:<id>, evaluation_text:<id>, evaluation_turns:<id>,
--   evaluation_last:<evaluation>, evaluation_due, evaluations_done, evaluations_open, stored.
-- Wakes: nobody.
-- Bound: RUNS_MAX runs.
-- Lane: slow.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   user  name
-- Replies: more/runs that are gone | done/runs that are gone
local evaluations = require('bots/evaluations')
local bounds = require('turn/bounds')
local call = redis.call
local format = string.format

local RUNS_MAX = 100
local COMMANDS = 20 -- for one that is deleted

local function verb(turn, a)
    --- arguments
    local key = turn.prefix .. 'evaluations_of:' .. user
    local ids = call('ZRANGE', key, 0, RUNS_MAX - 1)
    bounds.note_read(turn, COMMANDS * #ids, 0)
    for i = 1, #ids do
        local e = evaluations.read(turn, ids[i])
        if e then evaluations.drop(turn, e) else call('ZREM', key, ids[i]) end
    end
    return (call('EXISTS', key) == 1 and 'more\n' or 'done\n') .. format('%d', #ids)
end

return {evaluation_forget_user = verb}
