-- workflow_step: stores one step of a run in one atomic step: the new state, the frame, the record for the history, the
-- question if the run waits from now on, and the event to the nodes that watch the session. The node that drives the
-- run calls it; only what is stored here is sent to clients. A step that ends the run or waits gives the run back.
-- Stops these races: a node was presumed dead and continues (it gets lost, since another fence runs); the reply to a
--   step was lost and the node repeats it (ok, and nothing is stored twice); the run's user was deleted (lost).
-- KEYS: wfr:<session>.<run>, wff:<session>.<run>, wfs:<session>.<run>, wf:<session>, wf_due, wf_done, wf_open,
--   wf_file:<version>, wfq:<session>.<run>.<step>, wf_ask:<who>, wf_asked:<who>, wfw:<session>, stored.
-- Wakes: nodes that watch the session.
-- Bound: one step: 0.6 MiB, 100 approvers; a frame to each node that watches.
-- Lane: first.  Home: session.  Nonce: no.  Full: runs.
-- Repeatable: yes, until the next step: ok.
-- Arguments:
--   session      name
--   run          digits
--   fence        digits
--   step         digits     number of this step: the run's last one and 1
--   status       words running|approved|waiting|done|rejected|expired|failed
--   verb_name    name?      of the run from now on; '' if it stays
--   agent        name?      the next one; of a question the one that asks; '' when the run is over
--   attempt      number     of that agent
--   body         json 200k  messageBody
--   frame        json? 256k the envelope that clients get; its seq is the run's last one and 1
--   record       json? 16k  the step, for the history
--   question     json? 64k  of a run that waits: what approvers are shown
--   quorum       number?
--   is_self_allowed  flag   the run's own account may answer
--   deadline_ms  number?    from now on; none: the question stays open
--   each approver 100:
--     who  name  a.<account>, r.<role> or another name of one who may answer
-- Replies: ok/seq (of the last frame) | lost | full (no more steps or bytes: only a step that ends the run is stored)
local leased = require('turn/leased')
local questions = require('workflow/questions')
local runs = require('workflow/runs')
local watching = require('workflow/watching')
local call = redis.call
local format = string.format

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local r = runs.read(turn, session, run, 'step', 'seq', 'stepped', 'version', 'questions', 'bytes',
                        'log', 'is_counted', 'taken')
    if not r then return 'lost' end
    local this = fence .. ' ' .. step
    if r.stepped == this then return 'ok\n' .. r.seq end
    if r.fence ~= fence or not runs.DRIVEN[r.status] or tonumber(step) ~= r.step + 1 then return 'lost' end
    local is_open, log = runs.OPEN[status], r.log + #record
    local bytes = #frame + #record + (status == 'waiting' and #question + #body or 0)
    if is_open and (r.step + 1 > runs.STEPS_MAX or r.bytes + bytes > runs.RUN_BYTES or log > runs.LOG_BYTES) then
        return 'full'
    end
    local seq = r.seq
    if frame ~= '' then
        seq = format('%d', seq + 1)
        call('RPUSH', P .. 'wff:' .. r.id, frame)
        watching.notify(turn, session, run, seq, frame)
    end
    if record ~= '' then call('RPUSH', P .. 'wfs:' .. r.id, record) end
    if r.taken then call('HDEL', r.key, 'taken') end
    if verb_name ~= '' then call('HSET', r.key, 'verb', verb_name) end
    call('HSET', r.key, 'status', status, 'agent', agent, 'attempt', format('%d', attempt), 'step', step, 'seq', seq,
         'stepped', this, 'body', is_open and body or '{}', 'updated', turn.now_text,
         'bytes', runs.grow(turn, r, bytes), 'log', format('%d', log))
    if status == 'waiting' then
        local approvers, deadline = {}, deadline_ms and format('%d', turn.now_ms + deadline_ms) or ''
        for i = approver_from, approver_to do approvers[#approvers + 1] = args[i] end
        questions.open(turn, r, step, {
            agent = agent, text = question, quorum = format('%d', quorum or 1), deadline = deadline, body = body,
            is_self_allowed = is_self_allowed and 1 or 0, approvers = approvers,
        })
        call('HSET', r.key, 'question', step, 'questions', r.questions == '' and step or r.questions .. ' ' .. step)
        if deadline == '' then
            leased.forget(turn, runs.KIND, r)
        else
            leased.put(turn, runs.KIND, r, deadline)
        end
    elseif is_open then
        leased.keep(turn, runs.KIND, r)
    else
        runs.finish(turn, r)
    end
    return 'ok\n' .. seq
end

return {workflow_step = verb}
