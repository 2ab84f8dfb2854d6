-- workflow_begin: begins a run of a session and gives it to this node, which also watches the session from now on. A
-- request id that the session knows already begins nothing.
-- Stops this race: two nodes begin the same request of a client that sent it twice (the second one gets `known`).
-- KEYS: wf:<session>, wfr:<session>.<run>, wf_due, wf_of:<user>, wf_open, wf_file:<version>, wf_files, wfw:<session>,
--   stored.
-- Wakes: nobody.
-- Bound: one run: 0.7 MiB with its file.
-- Lane: add.  Home: session.  Nonce: no.  Full: refused.  Durable: yes.
-- Repeatable: yes: known.
-- Arguments:
--   session     name       32 hex digits of account, user and session id
--   account     name       who began it
--   user        name       on whose behalf, in its namespace
--   session_id  name       as the client named it
--   request_id  name
--   verb_name   name       RULE, CONTENT, ...
--   version     name       of the workflow file
--   file        text? 512k its text, if this shard does not know that version
--   agent       name       the first one
--   body        json 200k  messageBody
--   max_stored           number?  bytes that the account may store on this shard; absent: bytes are not counted
--   max_stored_per_user  number?  bytes that each of its users may store; absent: no limit
-- Replies: begun/run/fence | known/run | version (this shard does not know that file: call again with its text) |
--   full/`session` (it has 1,000 runs) or `open` (100 unfinished ones of that account and user) | stored, as of add
local stored = require('queue/stored')
local leased = require('turn/leased')
local order = require('turn/order')
local files = require('workflow/files')
local runs = require('workflow/runs')
local watching = require('workflow/watching')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local key, whose, bytes = P .. 'wf:' .. session, account .. ' ' .. user, #body
    local known = runs.run_of(turn, session, request_id)
    if known then
        watching.add(turn, session)
        return 'known\n' .. known
    end
    local s = call('HMGET', key, 'last', 'runs')
    if tonumber(s[2] or 0) >= runs.SESSION_MAX then return 'full\nsession' end
    if runs.open_n(turn, whose) >= runs.OPEN_MAX then return 'full\nopen' end
    if not files.has(turn, version, file) then return 'version' end
    if max_stored then
        local refusal = stored.count(turn, account, whose, stored.whole(bytes), max_stored, max_stored_per_user)
        if refusal then return refusal end
    end
    local mine = P .. 'wf_of:' .. user
    local run = order.next_ms(turn, mine, tonumber(s[1] or 0) + 1)
    call('HSET', key, 'account', account, 'user', user, 'session_id', session_id, 'last', run, 'id:' .. request_id, run)
    call('HINCRBY', key, 'runs', 1)
    local r = {key = runs.key_of(turn, session, run), id = session .. '.' .. run, account = account, user = user}
    call('HSET', r.key, 'status', 'running', 'account', account, 'user', user, 'session_id', session_id,
         'request_id', request_id, 'ids', request_id, 'verb', verb_name, 'version', version, 'agent', agent,
         'attempt', 0, 'step', 0, 'seq', 0, 'stepped', '', 'question', '', 'questions', '', 'body', body,
         'created', turn.now_text, 'updated', turn.now_text, 'bytes', bytes, 'log', 0)
    if max_stored then call('HSET', r.key, 'is_counted', 1) end
    call('ZADD', mine, run, r.id)
    runs.count_open(turn, whose, 1)
    files.hold(turn, version)
    watching.add(turn, session)
    return 'begun\n' .. run .. '\n' .. leased.give(turn, runs.KIND, r)
end

return {workflow_begin = verb}
