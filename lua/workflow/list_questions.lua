-- workflow_questions: returns a page of the questions that an approver may answer, or that were answered, newest first.
-- KEYS: wf_ask:<who>, wf_asked:<who>, wfq:<session>.<run>.<step>, wfr:<session>.<run>.
-- Wakes: nobody.
-- Bound: REPLY_BYTES, but one question at least; QUESTIONS_PAGE questions.
-- Lane: slow.  Home: every.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   which   words open|answered|all
--   limit   number?    questions at most; QUESTIONS_PAGE without
--   after   text? 600  cursor; from the newest on without
--   each identity 20:
--     who  name  as of workflow_answer
-- Replies: replay | ok/cursor of the next page ('' when there is none), then per question 20 lines: its cursor, and 19
--   as of workflow_question
local questions = require('workflow/questions')
local newest = require('turn/newest')
local bounds = require('turn/bounds')
local min = math.min
local REPLY_BYTES = bounds.REPLY_BYTES

local QUESTIONS_PAGE = 100

local function verb(turn, a)
    --- arguments
    local keys, parts, bytes = {}, {''}, 0
    for i = identity_from, identity_to do
        if which ~= 'answered' then keys[#keys + 1] = 'wf_ask:' .. args[i] end
        if which ~= 'open' then keys[#keys + 1] = 'wf_asked:' .. args[i] end
    end
    local n = min(limit or QUESTIONS_PAGE, QUESTIONS_PAGE)
    local cursor_after = newest.walk(turn, keys, after, n, function(id, cursor)
        local more = questions.bytes_of(turn, id)
        if bytes > 0 and bytes + more > REPLY_BYTES then return false end
        bytes = bytes + more
        questions.put_lines(turn, id, '\n' .. cursor .. '\n', parts)
        return true
    end)
    parts[1] = 'ok\n' .. cursor_after
    return parts
end

return {workflow_questions = verb}
