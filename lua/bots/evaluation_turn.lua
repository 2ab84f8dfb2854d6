-- evaluation_turn: stores one turn of a run, or how the run ends. The node that drives the run calls it.
-- Stops these races: a node was presumed dead and continues (it gets lost, since another fence runs); the reply was
--   lost and the node repeats the call (ok, and nothing is stored twice); the run was cancelled, or its user deleted
--   (lost).
-- KEYS: evaluation:<id>, evaluation_turns:<id>, evaluation_text:<id>, evaluation_due, evaluations_done,
--   evaluations_open, stored.
-- Wakes: nobody.
-- Bound: one turn: 0.3 MiB; TURNS_BYTES of a run.
-- Lane: first.  Home: evaluation.  Nonce: no.  Full: runs.
-- Repeatable: yes, until the next turn: ok.
-- Arguments:
--   evaluation  name
--   run         digits
--   fence       digits
--   at          digits      number of this turn: 0 for the first one; those that are stored, if there is none
--   result      json? 256k  the turn; '' if only the status changes
--   status      words running|done|failed
--   summary     json? 16k   of the turns that are stored then
-- Replies: ok/turns that are stored | lost | full (no more bytes: only the end of the run is stored)
local evaluations = require('bots/evaluations')
local leased = require('turn/leased')
local call = redis.call
local format = string.format

local function verb(turn, a)
    --- arguments
    local e = evaluations.read(turn, evaluation .. '-' .. run)
    if not e or e.fence ~= fence then return 'lost' end
    local next_at = format('%d', at + (result ~= '' and 1 or 0))
    if e.at == next_at and e.status == status and (result ~= '' or status ~= 'running') then return 'ok\n' .. e.at end
    if e.status ~= 'running' or e.at ~= at then return 'lost' end
    if result ~= '' then
        if e.bytes - e.text_bytes + #result > evaluations.TURNS_BYTES then return 'full' end
        call('RPUSH', turn.prefix .. 'evaluation_turns:' .. e.id, result)
        evaluations.grow(turn, e, #result)
    end
    if e.taken then call('HDEL', e.key, 'taken') end
    call('HSET', e.key, 'at', next_at, 'updated', turn.now_text, 'summary', summary)
    if status == 'running' then
        leased.keep(turn, evaluations.KIND, e)
    else
        evaluations.finish(turn, e, status)
    end
    return 'ok\n' .. next_at
end

return {evaluation_turn = verb}
