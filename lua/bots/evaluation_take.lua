-- evaluation_take: gives runs to this node whose time has passed: those of a node that died. Their accounts and users
-- take turns (turn/due.lua). Also deletes runs that ended 30 days ago.
-- Stops this race: two nodes take the same run (the first one's fence moves its time). A run that ends every node that
-- takes it is taken less and less often.
-- KEYS: turn/due.lua with evaluation_due, evaluations_done, evaluation:<id>; of runs that go as evaluation_forget_user.
-- Wakes: nobody.
-- Bound: as many runs as its argument says, TAKE_MAX at most; deletes DROP_MAX.
-- Lane: slow.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: takes more.
-- Arguments:
--   limit  number
-- Replies: (per run 4 lines: its id, <evaluation>-<run>/its fence/account/user: whose turn it takes)
local evaluations = require('bots/evaluations')
local leased = require('turn/leased')
local call = redis.call
local format = string.format
local concat = table.concat
local min = math.min

local TAKE_MAX, DROP_MAX = 20, 20

local function verb(turn, a)
    --- arguments
    local P, KIND = turn.prefix, evaluations.KIND
    local taken = leased.take(turn, KIND, min(limit, TAKE_MAX), function(id)
        local e = evaluations.read(turn, id)
        if not e or e.status ~= 'running' then return nil end
        return concat({e.id, leased.give_carefully(turn, KIND, e), e.account, e.user}, '\n')
    end)
    local before = format('%d', turn.now_ms - evaluations.KEPT_MS)
    for _, id in ipairs(call('ZRANGEBYSCORE', P .. 'evaluations_done', '-inf', before, 'LIMIT', 0, DROP_MAX)) do
        local e = evaluations.read(turn, id)
        if e then evaluations.drop(turn, e) else call('ZREM', P .. 'evaluations_done', id) end
    end
    return taken
end

return {evaluation_take = verb}
