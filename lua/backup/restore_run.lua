-- restore_run: restores a run of a workflow, after its frames, step records, answers and ended questions: its state,
--   its newest question, and what other keys say of it. A run that had a driver may be taken at once.
-- Stops this race: frames, records and answers were appended while the backup read the run. Those that came after its
--   state was read are cut off.
-- KEYS: wfr:<session>.<run>, wfq:<session>.<run>.<step>, wff:<session>.<run>, wfs:, wfa:, wf:<session>, wf_due,
--   wf_done, wf_of:<user>, wf_open, wf_ask:<who>, wf_asked:<who>, wf_file:<version>, wf_files, stored.
-- Wakes: nobody.
-- Bound: one run: 200 questions with 100 approvers.
-- Lane: add.  Home: session.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   session   name
--   run       digits
--   frames    number
--   records   number
--   answers   number
--   question  digits?  step of its newest question
--   each pair 400:
--     field  text 1m   with '@' of that question
--     value  text? 64m
-- Replies: ok
local stored = require('queue/stored')
local leased = require('turn/leased')
local files = require('workflow/files')
local questions = require('workflow/questions')
local runs = require('workflow/runs')
local call = redis.call
local format, gmatch, sub = string.format, string.gmatch, string.sub
local concat, sort = table.concat, table.sort
local max = math.max

-- Keeps the first n entries of a list.
local function cut(key, n)
    if n == 0 then
        call('UNLINK', key)
    else
        call('LTRIM', key, 0, n - 1)
    end
end

-- The session's waiting runs, that of the newest question first.
local function wait_in_order(turn, session, run)
    local P, key, waiting = turn.prefix, turn.prefix .. 'wf:' .. session, {}
    for other in gmatch((call('HGET', key, 'waiting') or '') .. ' ' .. run, '%d+') do
        local id = session .. '.' .. other
        local asked = call('HGET', P .. 'wfq:' .. id .. '.' .. call('HGET', P .. 'wfr:' .. id, 'question'), 'asked')
        waiting[#waiting + 1] = {run = other, asked = tonumber(asked)}
    end
    sort(waiting, function (x, y)
        if x.asked ~= y.asked then return x.asked > y.asked end
        return tonumber(x.run) > tonumber(y.run)
    end)
    for i = 1, #waiting do waiting[i] = waiting[i].run end
    call('HSET', key, 'waiting', concat(waiting, ' '))
end

local function put_in_session(turn, r, session, run)
    local key = turn.prefix .. 'wf:' .. session
    call('HSET', key, 'account', r.account, 'user', r.user, 'session_id', r.session_id,
         'last', format('%d', max(tonumber(run), tonumber(call('HGET', key, 'last') or 0))))
    call('HINCRBY', key, 'runs', 1)
    for request_id in gmatch(r.ids, '%S+') do call('HSET', key, 'id:' .. request_id, run) end
end

local function put_in_lists(turn, r)
    local P = turn.prefix
    call('ZADD', P .. 'wf_of:' .. r.user, r.run, r.id)
    if not runs.OPEN[r.status] then
        call('ZADD', P .. 'wf_done', r.updated, r.id)
        return
    end
    runs.count_open(turn, r.whose, 1)
    files.hold(turn, r.version)
    if runs.DRIVEN[r.status] then
        leased.put(turn, runs.KIND, r, turn.now_ms)
        return
    end
    local deadline = call('HGET', P .. 'wfq:' .. r.id .. '.' .. r.question, 'deadline')
    if deadline ~= '' then leased.put(turn, runs.KIND, r, deadline) end
end

local function verb(turn, a)
    --- arguments
    local P, id = turn.prefix, session .. '.' .. run
    local key = runs.key_of(turn, session, run)
    if call('EXISTS', key) == 1 then return 'ok' end
    for i = pair_from, pair_to, 2 do
        local field = args[i]
        if sub(field, 1, 1) == '@' then
            call('HSET', P .. 'wfq:' .. id .. '.' .. question, sub(field, 2), args[i + 1])
        else
            call('HSET', key, field, args[i + 1])
        end
    end
    cut(P .. 'wff:' .. id, frames)
    cut(P .. 'wfs:' .. id, records)
    cut(P .. 'wfa:' .. id, answers)
    local r = runs.read(turn, session, run, 'session_id', 'ids', 'version', 'question', 'questions', 'updated', 'bytes',
                        'is_counted')
    if not r then return 'ok' end -- a file that was damaged and has the right sum
    put_in_session(turn, r, session, run)
    put_in_lists(turn, r)
    if r.status == 'waiting' then wait_in_order(turn, session, run) end
    for step in gmatch(r.questions, '%d+') do questions.list(turn, id .. '.' .. step) end
    if r.is_counted then stored.count(turn, r.account, r.whose, stored.whole(tonumber(r.bytes))) end
    return 'ok'
end

return {restore_run = verb}
