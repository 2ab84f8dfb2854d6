-- workflow_answer: a person answers a question of a run, or its deadline does. The answer is appended to the run's
-- answers in the same step. One rejection ends the question; so does the approval that completes the quorum, of
-- different accounts. The run then belongs to this node, which loads it and carries on: its status is `approved` if a
-- person has said yes to it, now or before, else `running`, and its question says what was decided.
-- Stops these races: two people answer at once (the later one gets closed, with the first one's name); an answer
--   crosses the deadline (by Redis's clock: from then on no answer counts, and before it no deadline does); one account
--   answers twice over two nodes (again); the user of the run is being deleted (missing).
-- KEYS: wfr:<session>.<run>, wfq:<session>.<run>.<step>, wfa:<session>.<run>, wf:<session>, wf_ask:<who>,
--   wf_asked:<who>, wf_due, stored.
-- Wakes: nobody: the next step of the run does.
-- Bound: one answer: 0.3 MiB; 100 approvers.
-- Lane: first.  Home: session.  Nonce: yes.  Full: runs.  Durable: yes.
-- Repeatable: again, or closed.
-- Arguments:
--   session      name
--   run          digits
--   step         digits
--   account      name?     whose approval it is; '' with how=deadline
--   user         name?     on whose behalf, in its namespace
--   who_json     json 4k   account, user and note, for the record
--   how          words socket|echo|http|link|deadline
--   is_approved  flag      of a deadline: the run continues
--   corrections  json? 64k members of messageBody
--   before       json? 200k what those members were
--   comment      json? 8k
--   each identity 20:
--     who  name  the names under which this account may be an approver: a.<account>, r.<role>, ...
-- Replies: missing | replay | forbidden | closed/who (JSON; null: the deadline has passed)/ms | again/ms (when this
--   account answered) | early (no deadline has passed) | full (no more bytes: without corrections and comment it
--   counts) | counted/approvals/quorum | decided/fence/account/user (whose turn the run takes)
local leased = require('turn/leased')
local questions = require('workflow/questions')
local runs = require('workflow/runs')
local call = redis.call
local format, gmatch = string.format, string.gmatch
local concat = table.concat

-- Is one of args[from] to args[to] among the approvers (names, by ' ')?
local function is_among(approvers, args, from, to)
    local names = {}
    for i = from, to do names[args[i]] = true end
    for name in gmatch(approvers, '%S+') do
        if names[name] then return true end
    end
    return false
end

-- Ends the question and gives the run to this node.
local function decide(turn, r, q, status, who_json)
    questions.close(turn, q, status, who_json)
    if status == 'approved' then call('HSET', r.key, 'approved', 1) end
    local is_approved = status == 'approved' or r.approved
    call('HSET', r.key, 'status', is_approved and 'approved' or 'running', 'updated', turn.now_text)
    return concat({'decided', leased.give(turn, runs.KIND, r), r.account, r.user}, '\n')
end

local function verb(turn, a)
    --- arguments
    local r = runs.read(turn, session, run, 'bytes', 'log', 'is_counted', 'approved')
    local q = r and questions.read(turn, session, run, step)
    -- A run that is being deleted does not wait any more.
    if not q or (q.status == 'open' and r.status ~= 'waiting') then return 'missing' end
    local is_person, is_late = how ~= 'deadline', q.deadline ~= '' and tonumber(q.deadline) <= turn.now_ms
    if is_person and (not is_among(q.approvers, args, identity_from, identity_to)
                      or (q.is_self_allowed == '0' and (account == r.account or user == r.user))) then
        return 'forbidden'
    end
    if q.status ~= 'open' then return 'closed\n' .. q.who .. '\n' .. q.closed end
    if is_person and is_late then return 'closed\nnull\n' .. q.deadline end
    if not is_person and not is_late then return 'early' end
    local answered_ms = is_person and call('HGET', q.key, 'by:' .. account)
    if answered_ms then return 'again\n' .. answered_ms end
    local answer = questions.answer_of(turn, step, how, is_approved, who_json, corrections, before, comment)
    local bytes, log = r.bytes + #answer, r.log + #answer
    local has_more = corrections ~= '' or before ~= '' or comment ~= ''
    if has_more and (bytes > runs.RUN_BYTES or log > runs.LOG_BYTES) then return 'full' end
    call('RPUSH', turn.prefix .. 'wfa:' .. r.id, answer)
    call('HSET', r.key, 'bytes', runs.grow(turn, r, #answer), 'log', format('%d', log))
    call('HINCRBY', q.key, 'answers', 1)
    if not is_person then return decide(turn, r, q, 'expired', who_json) end
    call('HSET', q.key, 'by:' .. account, turn.now_text)
    if not is_approved then return decide(turn, r, q, 'rejected', who_json) end
    local approvals = call('HINCRBY', q.key, 'approvals', 1)
    if approvals >= tonumber(q.quorum) then return decide(turn, r, q, 'approved', who_json) end
    return 'counted\n' .. format('%d', approvals) .. '\n' .. q.quorum
end

return {workflow_answer = verb}
