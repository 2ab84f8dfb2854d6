-- jobs: the life of the job that indexes a document: a hash job:<job>, and one entry of the stream `jobs` while it runs
-- and while it is its account's next one (documents/job_queue.lua says where it waits before that):
--   QUEUED -> RUNNING (a lease, an attempt) -> DONE | FAILED; CANCELLED when its document is deleted or gets other
--   bytes. RUNNING -> QUEUED when it is released; RUNNING -> RUNNING with a new lease when its indexer died and another
--   one took its entry.
-- Each verb of a job names its lease. Every begin issues a new lease from a counter that only rises, so an indexer that
-- was presumed dead and returns gets `lost` and changes nothing.
local elements = require('documents/elements')
local job_queue = require('documents/job_queue')
local storage = require('documents/storage')
local watchers = require('documents/watchers')
local hashes = require('turn/hashes')
local call = redis.call
local format = string.format
local GROUP = job_queue.GROUP

local JOB_ATTEMPTS = 3
local JOB_SHOWN_MS, JOBS_SHOWN = 3600000, 200
local UNFINISHED_MS = 1e12    -- unfinished jobs sort after all finished ones in recent_jobs

-- The job is among the space's recent ones: while it is unfinished, and for an hour after.
local function list(turn, space, job, is_over)
    local key = turn.prefix .. 'recent_jobs:' .. space
    call('ZADD', key, format('%d', turn.now_ms + (is_over and JOB_SHOWN_MS or UNFINISHED_MS)), job)
    call('ZREMRANGEBYSCORE', key, '-inf', turn.now_text)
    call('ZREMRANGEBYRANK', key, 0, -JOBS_SHOWN - 1)
end

-- account: whose turn it takes; '' or nil: the space's alone.
local function start(turn, space, doc, job, stage, is_reindex, account)
    call('HSET', turn.prefix .. 'job:' .. job, 'doc', doc, 'space', space, 'status', 'QUEUED', 'stage', stage,
         'progress', 0, 'error', '', 'attempt', 0, 'lease', '', 'is_reindex', is_reindex and 1 or 0,
         'created', turn.now_text, 'updated', turn.now_text, 'entry', '', 'consumer', '', 'stolen', '',
         'digest', '', 'vectors_n', 0)
    if account and account ~= '' then call('HSET', turn.prefix .. 'job:' .. job, 'account', account) end
    job_queue.queue_job(turn, space, job, turn.now_text)
    list(turn, space, job, false)
end

local function read(turn, job)
    local key = turn.prefix .. 'job:' .. job
    local j = hashes.fields(key, 'doc', 'space', 'status', 'stage', 'attempt', 'lease', 'is_reindex', 'entry',
                            'consumer', 'stolen', 'digest', 'vectors_n', 'created')
    j.id, j.key = job, key
    j.is_open = j.status == 'QUEUED' or j.status == 'RUNNING'
    return j
end

-- The job, if it runs under that lease; its entry is renewed with it, so nobody takes it over. Stops this
-- race: an indexer hangs, its job is begun by another one, and then it continues.
local function read_held(turn, job, lease)
    local j = read(turn, job)
    if j.status ~= 'RUNNING' or j.lease ~= lease then return nil, j end
    call('XCLAIM', turn.prefix .. 'jobs', GROUP, j.consumer, 0, j.entry, 'JUSTID')
    if j.stolen ~= '' then call('HSET', j.key, 'stolen', '') end
    return j
end

local function trash_job_elements(turn, j)
    elements.trash_elements(turn, j.space, j.digest, j.doc, j.lease, j.vectors_n)
end

-- A job that runs is given back, the attempt not counted. Where it waits is the caller's: queue_job, or a zset.
local function take_back(turn, j)
    trash_job_elements(turn, j)
    job_queue.drop_entry(turn, j.entry)
    call('HSET', j.key, 'status', 'QUEUED', 'lease', '', 'attempt', format('%d', j.attempt - 1), 'progress', 0,
         'consumer', '', 'stolen', '', 'digest', '', 'vectors_n', 0, 'entry', '', 'updated', turn.now_text)
    call('HSET', turn.prefix .. 'doc:' .. j.doc, 'status', 'QUEUED', 'updated', turn.now_text)
    list(turn, j.space, j.id, false)
end

-- The job is over as DONE or FAILED. It stays as long as it is its document's latest.
local function finish(turn, j, status, stage, progress, problem)
    job_queue.drop_entry(turn, j.entry)
    call('HSET', j.key, 'status', status, 'stage', stage, 'progress', progress, 'error', problem,
         'updated', turn.now_text)
    list(turn, j.space, j.id, true)
end

-- The document could not be indexed. What was searched before still is.
local function fail(turn, j, problem)
    local P = turn.prefix
    trash_job_elements(turn, j)
    call('UNLINK', P .. 'upload:' .. j.doc)
    call('HSET', P .. 'doc:' .. j.doc, 'status', 'FAILED', 'updated', turn.now_text)
    storage.count_bytes(turn, j.doc, j.space)
    local progress = call('HGET', j.key, 'progress')
    finish(turn, j, 'FAILED', j.stage, progress, problem)
    watchers.notify(turn, j.space, j.id, j.doc, 'index_failed', j.stage, progress, problem)
end

-- Detaches a document from its latest job: an unfinished one is cancelled, and its indexer notified `lost`. It stays
-- for an hour, for those who know its id.
local function retire(turn, job, reason)
    local j = read(turn, job)
    if j.is_open then
        job_queue.drop_entry(turn, j.entry)
        if j.status == 'QUEUED' then job_queue.leave_queue(turn, j.space, job) end
        trash_job_elements(turn, j)
        call('HSET', j.key, 'status', 'CANCELLED', 'updated', turn.now_text)
        call('ZREM', turn.prefix .. 'recent_jobs:' .. j.space, job)
        watchers.notify(turn, j.space, job, j.doc, 'index_failed', j.stage, call('HGET', j.key, 'progress'), reason)
    end
    call('PEXPIRE', j.key, JOB_SHOWN_MS)
end

return {
    JOB_ATTEMPTS = JOB_ATTEMPTS, JOBS_SHOWN = JOBS_SHOWN, list = list, start = start, read = read,
    read_held = read_held, trash_job_elements = trash_job_elements, take_back = take_back, finish = finish,
    fail = fail, retire = retire,
}
