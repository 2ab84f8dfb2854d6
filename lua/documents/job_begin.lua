-- job_begin: starts the job of a stream entry that an indexer has read or taken over, under a new lease. Without an
--   entry (`parley ingest`) the job runs outside the stream; its entry stays there so that others find it if this
--   indexer dies, and a job without an entry gets one now.
-- Guarantees: one lease at a time; a repeated call (after a lost reply) returns the same lease and attempt. Elements
--   that an earlier attempt put into a vector set are deleted; its stored text is reused.
-- Stops this race: an indexer reads the entry of a job that is already running, outside the stream or because another
--   one took it over first. Only job_steal takes a running job away, or, for a job outside the stream whose entry no
--   indexer may have read, a silence of idle_ms.
-- KEYS: job:<job>, doc:<doc> hashes, jobs stream, waiting_jobs, recent_jobs:<space>, trash; meta;
--   documents/job_queue.lua.
-- Wakes: watching nodes, when it is spent; an indexer, if its space has another job.
-- Bound: one job.
-- Lane: first.  Home: space.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   entry     text? 48  of the stream
--   job       name
--   consumer  name
--   idle_ms   number?   only without an entry: after so long it is taken over
-- Replies: ok/lease/attempt/doc/space/stage/kind/filename (JSON)/size/is_reindex/chars/blocks (0: to be parsed) | gone
--   (it is over, then the entry is deleted; or it runs elsewhere) | spent (its attempts are used up: FAILED)
local job_queue = require('documents/job_queue')
local jobs = require('documents/jobs')
local counters = require('turn/counters')
local instants = require('turn/instants')
local call = redis.call
local format = string.format
local concat = table.concat
local GROUP = job_queue.GROUP
local JOB_ATTEMPTS = jobs.JOB_ATTEMPTS

local function job_facts(turn, j, lease, attempt)
    local got = call('HMGET', turn.prefix .. 'doc:' .. j.doc, 'kind', 'filename', 'size', 'chars', 'blocks')
    return concat({'ok', lease, attempt, j.doc, j.space, tonumber(got[5]) > 0 and 'CHUNK' or 'PARSE', got[1],
                   got[2], got[3], j.is_reindex, got[4], got[5]}, '\n')
end

-- May a job that runs be taken over?
local function is_forsaken(turn, j, entry, consumer, idle_ms)
    if j.stolen == consumer then return true end
    return entry == '' and idle_ms ~= nil and not instants.is_near(turn, call('HGET', j.key, 'updated'), idle_ms)
end

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local j = jobs.read(turn, job)
    if not j.is_open or (entry ~= '' and entry ~= j.entry) then
        job_queue.drop_entry(turn, entry)
        if not j.is_open then call('ZREM', P .. 'waiting_jobs', job) end
        return 'gone'
    end
    if j.status == 'RUNNING' and not is_forsaken(turn, j, entry, consumer, idle_ms) then
        if j.consumer ~= consumer then return 'gone' end
        return job_facts(turn, j, j.lease, j.attempt)
    end
    jobs.trash_job_elements(turn, j)
    j.vectors_n = '0'
    local attempt = format('%d', j.attempt + 1)
    if tonumber(attempt) > JOB_ATTEMPTS then
        jobs.fail(turn, j, '"Indexing ended without a word, in each of ' .. JOB_ATTEMPTS .. ' attempts."')
        return 'spent'
    end
    job_queue.ensure_group(turn)
    if j.status == 'QUEUED' then job_queue.leave_queue(turn, j.space, job) end
    if j.entry == '' then j.entry = job_queue.put_entry(turn, job) end -- it waited outside the stream
    local lease = counters.next_lease(turn)
    local blocks = tonumber(call('HGET', P .. 'doc:' .. j.doc, 'blocks'))
    call('HSET', j.key, 'status', 'RUNNING', 'stage', blocks > 0 and 'CHUNK' or 'PARSE', 'progress', 0,
         'attempt', attempt, 'lease', lease, 'consumer', consumer, 'stolen', '', 'digest', '', 'vectors_n', 0,
         'entry', j.entry, 'updated', turn.now_text)
    call('XCLAIM', P .. 'jobs', GROUP, consumer, 0, j.entry, 'JUSTID')
    call('HSET', P .. 'doc:' .. j.doc, 'status', 'INDEXING', 'updated', turn.now_text)
    jobs.list(turn, j.space, job, false)
    return job_facts(turn, j, lease, attempt)
end

return {job_begin = verb}
