-- workflow_load: returns the state of a run, from which any node that holds its fence can carry on: with its newest
-- question, and the answers to that.
-- KEYS: wfr:<session>.<run>, wfq:<session>.<run>.<step>, wfa:<session>.<run>.
-- Wakes: nobody.
-- Bound: one run: 1.7 MiB.
-- Lane: slow.  Home: session.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   session  name
--   run      digits
-- Replies: missing | ok/status/verb/version/agent/attempt/step/seq/fence/account/user/session id/request id (the newest
--   one)/created (ms)/updated (ms)/step of its newest question ('': none, and the next six are '')/its status (open,
--   approved, rejected, expired)/deadline (ms or '')/quorum/approvals/question (JSON)/its answers (a JSON
--   array)/messageBody (JSON)
local arrays = require('workflow/arrays')
local runs = require('workflow/runs')
local call = redis.call
local concat = table.concat

-- Puts the lines of its newest question.
local function put_question(turn, parts, r)
    if r.question == '' then
        parts[#parts + 1] = '\n\n\n\n\n\n\n'
        return
    end
    local P = turn.prefix
    local q = call('HMGET', P .. 'wfq:' .. r.id .. '.' .. r.question, 'status', 'deadline', 'quorum', 'approvals',
                   'question', 'answers')
    local n = tonumber(q[6])
    q[6] = ''
    parts[#parts + 1] = '\n' .. r.question .. '\n' .. concat(q, '\n')
    arrays.put(parts, n > 0 and call('LRANGE', P .. 'wfa:' .. r.id, -n, -1) or {})
end

local function verb(turn, a)
    --- arguments
    local r = runs.read(turn, session, run, 'verb', 'version', 'agent', 'attempt', 'step', 'seq', 'session_id',
                        'request_id', 'created', 'updated', 'question', 'body')
    if not r then return 'missing' end
    local parts = {concat({
        'ok', r.status, r.verb, r.version, r.agent, r.attempt, r.step, r.seq, r.fence, r.account, r.user, r.session_id,
        r.request_id, r.created, r.updated,
    }, '\n')}
    put_question(turn, parts, r)
    parts[#parts + 1] = '\n'
    parts[#parts + 1] = r.body
    return parts
end

return {workflow_load = verb}
