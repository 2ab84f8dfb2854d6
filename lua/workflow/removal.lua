-- removal: deletes runs with everything that is stored of them.
local stored = require('queue/stored')
local questions = require('workflow/questions')
local runs = require('workflow/runs')
local call = redis.call
local gmatch, match = string.gmatch, string.match

-- Deletes a run, whose driver loses its fence by that. left.rows: how many rows this may still take; it falls below 0
-- if there are more, and the next call continues. Returns whether the run is gone.
local function drop(turn, id, left)
    local P, session, run = turn.prefix, runs.split(id)
    local r = runs.read(turn, session, run, 'questions', 'ids', 'version', 'bytes', 'is_counted')
    left.rows = left.rows - 1
    if not r then return true end
    if runs.OPEN[r.status] then
        runs.finish(turn, r)
        runs.stop_waiting(turn, session, run)
        call('HSET', r.key, 'status', 'failed', 'fence', '', 'stepped', '')
    end
    local rest = r.questions
    while rest ~= '' and left.rows > 0 do
        local step
        step, rest = match(rest, '^(%d+) ?(.*)$')
        left.rows = left.rows - questions.drop(turn, session, run, step)
    end
    if rest ~= '' then
        call('HSET', r.key, 'questions', rest)
        return false
    end
    local key = P .. 'wf:' .. session
    for request_id in gmatch(r.ids, '%S+') do
        call('HDEL', key, 'id:' .. request_id)
        left.rows = left.rows - 1
    end
    if r.is_counted then stored.count(turn, r.account, r.whose, -stored.whole(tonumber(r.bytes))) end
    call('UNLINK', r.key, P .. 'wff:' .. id, P .. 'wfs:' .. id, P .. 'wfa:' .. id)
    call('ZREM', P .. 'wf_of:' .. r.user, id)
    call('ZREM', P .. 'wf_done', id)
    if call('HINCRBY', key, 'runs', -1) <= 0 then call('UNLINK', key, P .. 'wfw:' .. session) end
    return true
end

return {drop = drop}
