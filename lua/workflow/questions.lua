-- questions: stores the questions that a run waits for, one hash wfq:<session>.<run>.<step> each. An open one is
-- listed for each of its approvers in wf_ask:<who>, an answered one in wf_asked:<who>. Every answer is appended to
-- the list wfa:<session>.<run> as JSON and never changed.
local bounds = require('turn/bounds')
local hashes = require('turn/hashes')
local runs = require('workflow/runs')
local call = redis.call
local format, gmatch, match = string.format, string.gmatch, string.match
local concat = table.concat

local COMMANDS = 5         -- for a question that is listed
local ANSWERED_MAX = 1000 -- that are listed for an approver

local function key_of(turn, session, run, step)
    return turn.prefix .. 'wfq:' .. session .. '.' .. run .. '.' .. step
end

-- Opens a question of a run. q: agent, text (JSON), quorum, is_self_allowed, deadline ('': none), approvers (a list),
-- body.
local function open(turn, r, step, q)
    local P, id = turn.prefix, r.id .. '.' .. step
    call('HSET', P .. 'wfq:' .. id, 'status', 'open', 'agent', q.agent, 'asked', turn.now_text, 'deadline', q.deadline,
         'quorum', q.quorum, 'is_self_allowed', q.is_self_allowed, 'approvals', 0, 'answers', 0,
         'approvers', concat(q.approvers, ' '), 'question', q.text, 'body', q.body)
    for i = 1, #q.approvers do call('ZADD', P .. 'wf_ask:' .. q.approvers[i], turn.now_text, id) end
    runs.start_waiting(turn, r.session, r.run)
end

local function read(turn, session, run, step)
    local key = key_of(turn, session, run, step)
    local q = hashes.fields(key, 'status', 'deadline', 'quorum', 'is_self_allowed', 'approvals', 'answers', 'approvers',
                            'who', 'closed')
    if not q.status then return nil end
    q.key, q.session, q.run, q.step = key, session, run, step
    return q
end

-- The question was answered, or its run continued without an answer. who: JSON.
local function close(turn, q, status, who)
    local P, id = turn.prefix, q.session .. '.' .. q.run .. '.' .. q.step
    call('HSET', q.key, 'status', status, 'who', who, 'closed', turn.now_text)
    for name in gmatch(q.approvers, '%S+') do
        bounds.note_read(turn, 3, 0)
        local answered = P .. 'wf_asked:' .. name
        call('ZREM', P .. 'wf_ask:' .. name, id)
        call('ZADD', answered, turn.now_text, id)
        call('ZREMRANGEBYRANK', answered, 0, -ANSWERED_MAX - 1)
    end
    runs.stop_waiting(turn, q.session, q.run)
end

-- Lists a question of a backup for its approvers, as `open` and `close` did.
local function list(turn, id)
    local P = turn.prefix
    local q = hashes.fields(P .. 'wfq:' .. id, 'status', 'approvers', 'asked', 'closed')
    for name in gmatch(q.approvers, '%S+') do
        if q.status == 'open' then
            call('ZADD', P .. 'wf_ask:' .. name, q.asked, id)
        else
            call('ZADD', P .. 'wf_asked:' .. name, q.closed, id)
            call('ZREMRANGEBYRANK', P .. 'wf_asked:' .. name, 0, -ANSWERED_MAX - 1)
        end
    end
end

-- Deletes a question, of a run that is being deleted. Returns how many rows that took.
local function drop(turn, session, run, step)
    local P, id = turn.prefix, session .. '.' .. run .. '.' .. step
    local rows = 1
    for name in gmatch(call('HGET', P .. 'wfq:' .. id, 'approvers') or '', '%S+') do
        call('ZREM', P .. 'wf_ask:' .. name, id)
        call('ZREM', P .. 'wf_asked:' .. name, id)
        rows = rows + 1
    end
    call('UNLINK', P .. 'wfq:' .. id)
    return rows
end

local function split(id)
    return match(id, '^([^.]+)%.(%d+)%.(%d+)$')
end

-- The bytes of what `put_lines` puts, about.
local function bytes_of(turn, id)
    return hashes.bytes_of(turn.prefix .. 'wfq:' .. id, 'question', 'body') + 4096
end

-- Puts a question as 19 lines, after `before`, at the end of `parts` (turn/parts.lua): its texts are the long ones, and
-- are not copied. Returns whether it exists. The lines are: status (open, approved, rejected, expired, closed),
-- session, run, step, request id, session id, verb, agent, account and user of the run, asked, deadline (ms, or ''),
-- quorum, approvals, is_self_allowed, who ended it (JSON, or ''), when (ms, or ''), question (JSON), messageBody
-- (JSON).
local function put_lines(turn, id, before, parts)
    local session, run, step = split(id)
    local r = runs.read(turn, session, run, 'request_id', 'session_id', 'verb')
    local q = hashes.fields(turn.prefix .. 'wfq:' .. id, 'status', 'agent', 'asked', 'deadline', 'quorum', 'approvals',
                            'is_self_allowed', 'who', 'closed', 'question', 'body')
    if not r or not q.status then return false end
    bounds.note_read(turn, COMMANDS, 0)
    local n = #parts
    parts[n + 1] = before .. concat({
        q.status, session, run, step, r.request_id, r.session_id, r.verb, q.agent, r.account, r.user, q.asked,
        q.deadline, q.quorum, q.approvals, q.is_self_allowed, q.who or '', q.closed or '', '',
    }, '\n')
    parts[n + 2], parts[n + 3], parts[n + 4] = q.question, '\n', q.body
    return true
end

-- An answer as it is stored. The arguments that are JSON may be ''.
local function answer_of(turn, step, how, is_approved, who, corrections, before, comment)
    return format('{"step":%s,"how":"%s","approved":%s,"timestamp":%s,"who":', step, how, tostring(is_approved),
                  turn.now_text)
        .. concat({
            who, ',"corrections":', corrections ~= '' and corrections or 'null', ',"before":',
            before ~= '' and before or 'null', ',"comment":', comment ~= '' and comment or 'null', '}',
        })
end

return {
    open = open, read = read, close = close, list = list, drop = drop, bytes_of = bytes_of, put_lines = put_lines,
    answer_of = answer_of,
}
