-- job_steal: takes over one job whose indexer has been silent for idle_ms. If that indexer returns before the new one
--   begins the job, it keeps the job. Indexers call this regularly, so it also requeues delayed jobs that are due.
--   After Redis's clock went back, the silence of each indexer begins again, and delayed jobs are due after idle_ms.
-- KEYS: jobs stream, job:<job> hash, delayed_jobs, clock; documents/job_queue.lua.
-- Wakes: an indexer, when a job enters the stream.
-- Bound: STEAL_STEPS entries, twice that once after the clock went back, 100 jobs that are due.
-- Lane: first.  Home: every.  Nonce: no.  Full: refused.
-- Repeatable: it is this consumer's then.
-- Arguments:
--   consumer  name
--   idle_ms   number
-- Replies: entry/job (to be begun) | none
local job_queue = require('documents/job_queue')
local jobs = require('documents/jobs')
local instants = require('turn/instants')
local call = redis.call
local format = string.format
local GROUP = job_queue.GROUP

local STEAL_STEPS = 1000

-- Redis would begin to count the silence of those that it has heard of in the future at that time only.
local function begin_again(turn, idle_ms)
    local key = turn.prefix .. 'jobs'
    local delayed, at = turn.prefix .. 'delayed_jobs', format('%d', turn.now_ms + idle_ms)
    for _, job in ipairs(instants.late_ones(turn, delayed, idle_ms, STEAL_STEPS)) do
        call('ZADD', delayed, 'XX', at, job)
    end
    for _, pending in ipairs(call('XPENDING', key, GROUP, '-', '+', STEAL_STEPS)) do
        call('XCLAIM', key, GROUP, pending[2], 0, pending[1], 'JUSTID')
    end
end

local function verb(turn, a)
    --- arguments
    local from = '0-0'
    job_queue.ensure_group(turn)
    if instants.has_gone_back(turn, 'jobs') then begin_again(turn, idle_ms) end
    job_queue.queue_due_jobs(turn)
    for _ = 1, STEAL_STEPS do
        local got = call('XAUTOCLAIM', turn.prefix .. 'jobs', GROUP, consumer, idle_ms, from, 'COUNT', 1)
        local taken = got[2][1]
        if taken then
            local entry, job = taken[1], taken[2][2]
            local j = jobs.read(turn, job)
            if j.is_open and j.entry == entry then
                call('HSET', j.key, 'stolen', consumer)
                return entry .. '\n' .. job
            end
            job_queue.drop_entry(turn, entry)
        end
        from = got[1]
        if from == '0-0' then break end
    end
    return 'none'
end

return {job_steal = verb}
