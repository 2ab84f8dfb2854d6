-- job_steal: takes over one job whose indexer has been silent for idle_ms. If that indexer returns before the new one
--   begins the job, it keeps the job. Indexers call this regularly, so it also requeues delayed jobs that are due.
-- KEYS: jobs stream, job:<job> hash, delayed_jobs; documents/job_queue.lua.
-- Wakes: an indexer, when a job enters the stream.
-- Bound: STEAL_STEPS entries, 100 jobs that are due.
-- Lane: first.  Home: every.  Nonce: no.  Full: refused.
-- Repeatable: it is this consumer's then.
-- Arguments:
--   consumer  name
--   idle_ms   digits
-- Replies: entry/job (to be begun) | none
local job_queue = require('documents/job_queue')
local jobs = require('documents/jobs')
local call = redis.call
local GROUP = job_queue.GROUP

local STEAL_STEPS = 1000

local function verb(turn, a)
    --- arguments
    local from = '0-0'
    job_queue.ensure_group(turn)
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
