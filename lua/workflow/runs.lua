-- runs: the state of one run of a workflow, the hash wfr:<session>.<run>, and what counts and lists it. `session` is 32
-- hex digits of account, user and session id, so one account's sessions never meet another's. `run` is the time (ms) at
-- which the run began, at least one more than that of the session's former one, so that the ids of a run and of its
-- questions are never used again, even after its user was deleted. An id is "<session>.<run>".
--   begin -> running -> (waiting -> approved or running)* -> done | rejected | expired | failed
-- Its field `approved` is there once a person has said yes: a run that is done shows that status then (shown_status).
-- A run that is running or approved is driven by one node under a fence, a number that only rises, until the time in
-- wf_due (turn/due.lua); after that workflow_take gives it to another node under the next fence. Each verb of a driver
-- compares the fence. A run waits exactly as long as its newest question is open (workflow/questions.lua).
local stored = require('queue/stored')
local hashes = require('turn/hashes')
local leased = require('turn/leased')
local files = require('workflow/files')
local call = redis.call
local format, gmatch, match = string.format, string.gmatch, string.match
local concat = table.concat

local OPEN_MAX = 100         -- unfinished runs of an account and user, on this shard
local SESSION_MAX = 1000     -- runs of a session
local NAMES_MAX = 100        -- request ids of a run
local STEPS_MAX = 200        -- of a run; the one that ends it may be one more
local RUN_BYTES = 16777216   -- frames, records, questions and answers of a run
local LOG_BYTES = 1048576    -- records and answers of it, which one entry of the history has
local DRIVEN = {running = true, approved = true}
local KIND = {set = 'wf_due', key = 'wfr:', state = 'status', held_in = DRIVEN, ms = 6000} -- turn/leased.lua
local OPEN = {running = true, approved = true, waiting = true}

local function key_of(turn, session, run)
    return turn.prefix .. 'wfr:' .. session .. '.' .. run
end

-- Some fields of a run, always with its status and owner, or nil.
local function read(turn, session, run, ...)
    local key = key_of(turn, session, run)
    local r = hashes.fields(key, 'status', 'account', 'user', 'fence', ...)
    if not r.status then return nil end
    r.key, r.id, r.session, r.run = key, session .. '.' .. run, session, run
    r.whose = r.account .. ' ' .. r.user
    return r
end

-- A run's status as clients see it. r: with `approved`.
local function shown_status(r)
    return r.status == 'done' and r.approved and 'approved' or r.status
end

local function split(id)
    return match(id, '^([^.]+)%.(%d+)$')
end

-- One more unfinished run of an account and user, or one less.
local function count_open(turn, whose, delta)
    local key = turn.prefix .. 'wf_open'
    if call('HINCRBY', key, whose, delta) <= 0 then call('HDEL', key, whose) end
end

local function open_n(turn, whose)
    return tonumber(call('HGET', turn.prefix .. 'wf_open', whose) or 0)
end

-- That many bytes more are stored for a run. They are counted if its account had a limit when it began; nothing
-- refuses them any more (ADR 36). r: with `bytes` and `is_counted`.
local function grow(turn, r, bytes)
    local now = r.bytes + bytes
    local more = stored.whole(now) - stored.whole(r.bytes)
    if r.is_counted and more > 0 then stored.count(turn, r.account, r.whose, more) end
    return format('%d', now)
end

-- The run is over: nobody drives it, and it is kept as long as `workflow_take` says.
local function finish(turn, r)
    local P = turn.prefix
    leased.forget(turn, KIND, r)
    call('ZADD', P .. 'wf_done', turn.now_text, r.id)
    count_open(turn, r.whose, -1)
    files.let_go(turn, r.version)
end

-- The session's runs with an open question, newest question first, without one of them.
local function waiting_without(turn, session, run)
    local key, kept = turn.prefix .. 'wf:' .. session, {}
    for other in gmatch(call('HGET', key, 'waiting') or '', '%d+') do
        if other ~= run then kept[#kept + 1] = other end
    end
    return key, kept
end

local function stop_waiting(turn, session, run)
    local key, kept = waiting_without(turn, session, run)
    call('HSET', key, 'waiting', concat(kept, ' '))
end

local function start_waiting(turn, session, run)
    local key, kept = waiting_without(turn, session, run)
    call('HSET', key, 'waiting', concat({run, unpack(kept)}, ' '))
end

-- The run of a session that has the newest open question, or nil.
local function newest_waiting(turn, session)
    return match(call('HGET', turn.prefix .. 'wf:' .. session, 'waiting') or '', '^%d+')
end

-- The run that a request id of the session leads to, or nil.
local function run_of(turn, session, request_id)
    return call('HGET', turn.prefix .. 'wf:' .. session, 'id:' .. request_id) or nil
end

return {
    KIND = KIND, OPEN_MAX = OPEN_MAX, SESSION_MAX = SESSION_MAX, NAMES_MAX = NAMES_MAX, STEPS_MAX = STEPS_MAX,
    RUN_BYTES = RUN_BYTES, LOG_BYTES = LOG_BYTES, DRIVEN = DRIVEN, OPEN = OPEN,
    key_of = key_of, read = read, split = split, count_open = count_open, open_n = open_n, grow = grow,
    finish = finish, stop_waiting = stop_waiting, start_waiting = start_waiting, newest_waiting = newest_waiting,
    run_of = run_of, shown_status = shown_status,
}
