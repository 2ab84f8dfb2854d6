-- job_queue: decides whose document is indexed next. Accounts take turns, then the spaces for which one account acts,
--   one job at a time. Each space has one job whose turn is next (the hash job_turns, space -> job); its others wait in
--   the zset queued_jobs:<space> by age. Of these next ones the stream `jobs` holds at most one unstarted job of each
--   account (the hash account_turns, account -> job); the others wait in the zset queued_turns:<account>, in the order
--   in which their spaces are served. When a job begins, or ends before that, the next one of its space comes last
--   among those of its account, and the first one of these is appended to the stream. So 10,000 jobs of one account, or
--   of one of its owners, delay another one's job by at most one job per indexer, and the stream still wakes indexers
--   and shows abandoned entries. Jobs of no account, which operators begin, take turns by their spaces alone.
local counters = require('turn/counters')
local call = redis.call

local GROUP = 'indexers'
local DUE_N = 100

-- The group of indexers, which the first of them needs; without one XCLAIM is an error.
local function ensure_group(turn)
    local key = turn.prefix .. 'jobs'
    if call('EXISTS', key) == 1 then
        for _, group in ipairs(call('XINFO', 'GROUPS', key)) do
            if group[2] == GROUP then return end
        end
    end
    call('XGROUP', 'CREATE', key, GROUP, 0, 'MKSTREAM')
end

local function put_entry(turn, job)
    return call('XADD', turn.prefix .. 'jobs', '*', 'job', job)
end

local function drop_entry(turn, entry)
    local P = turn.prefix
    if entry == '' then return end
    call('XACK', P .. 'jobs', GROUP, entry)
    call('XDEL', P .. 'jobs', entry)
end

local function account_of(turn, job)
    return call('HGET', turn.prefix .. 'job:' .. job, 'account') or ''
end

-- The job is its space's next one. Returns its entry, or '' while another one of its account is before it.
local function enter(turn, job)
    local P, account = turn.prefix, account_of(turn, job)
    if account == '' or call('HSETNX', P .. 'account_turns', account, job) == 1 then return put_entry(turn, job) end
    call('ZADD', P .. 'queued_turns:' .. account, counters.next_lease(turn), job)
    return ''
end

-- The job waits for its turn: to be called for each job whose hash says QUEUED and that is nowhere else.
-- It writes `entry` of the hash; all that it needs is the job's id, space, `created` and the hash's `account`.
local function queue_job(turn, space, job, created)
    local P = turn.prefix
    local entry = ''
    if call('HSETNX', P .. 'job_turns', space, job) == 1 then
        entry = enter(turn, job)
    else
        call('ZADD', P .. 'queued_jobs:' .. space, created, job)
    end
    call('HSET', P .. 'job:' .. job, 'entry', entry)
end

-- The turn of `whose` (a field of the hash `turns`) is the next job's in its queue, which `put` enters.
local function pass_turn_of(turn, turns, queue, whose, put)
    local P = turn.prefix
    local job = call('ZPOPMIN', P .. queue .. whose)[1]
    if job then
        call('HSET', P .. turns, whose, job)
        call('HSET', P .. 'job:' .. job, 'entry', put(turn, job))
    else
        call('HDEL', P .. turns, whose)
    end
end

-- The turn is the next job's of that space.
local function pass_turn(turn, space)
    pass_turn_of(turn, 'job_turns', 'queued_jobs:', space, enter)
end

-- The same of an account: that of the space that has waited longest for it.
local function pass_turn_of_account(turn, account)
    pass_turn_of(turn, 'account_turns', 'queued_turns:', account, put_entry)
end

-- A job that was QUEUED is begun, or over: it waits no longer, wherever it did. Its entry is the caller's.
local function leave_queue(turn, space, job)
    local P, account = turn.prefix, account_of(turn, job)
    call('ZREM', P .. 'waiting_jobs', job)
    call('ZREM', P .. 'delayed_jobs', job)
    if call('HGET', P .. 'job_turns', space) == job then
        pass_turn(turn, space)
    else
        call('ZREM', P .. 'queued_jobs:' .. space, job)
    end
    if account == '' then return end
    if call('HGET', P .. 'account_turns', account) == job then
        pass_turn_of_account(turn, account)
    else
        call('ZREM', P .. 'queued_turns:' .. account, job)
    end
end

-- Queues what was given back for later and is due: it waits for its turn again.
local function queue_due_jobs(turn)
    local P = turn.prefix
    local due = call('ZRANGEBYSCORE', P .. 'delayed_jobs', '-inf', turn.now_text, 'LIMIT', 0, DUE_N)
    for i = 1, #due do
        local job = due[i]
        local got = call('HMGET', P .. 'job:' .. job, 'space', 'status', 'entry', 'created')
        call('ZREM', P .. 'delayed_jobs', job)
        if got[2] == 'QUEUED' and got[3] == '' then queue_job(turn, got[1], job, got[4]) end
    end
end

return {
    GROUP = GROUP, ensure_group = ensure_group, put_entry = put_entry, drop_entry = drop_entry, queue_job = queue_job,
    leave_queue = leave_queue, queue_due_jobs = queue_due_jobs,
}
