-- job_steal: takes over one job whose indexer was not heard of for so long. Until the thief begins it, its
-- indexer may come back: then it is that one's again. It is an indexer's regular look, so it also moves what was
-- given back for later and is due to where jobs wait for their turn, and mends turns.
-- KEYS: jobs stream, job:<job> hash, delayed_jobs; include/job_queue.lua.
-- Wakes: an indexer, when a job enters the stream.
-- Bound: STEAL_STEPS entries, 100 jobs that are due, the turns of 10 spaces.
-- Lane: first.  Home: every.  Nonce: no.  Full: refused.
-- Repeatable: it is this consumer's then.
-- Arguments:
--   consumer  name
--   idle_ms   digits
-- Replies: entry/job (to be begun) | none
local STEAL_STEPS = 1000

verbs.job_steal = function(a)
    --- arguments
    local from = '0-0'
    ensure_group()
    queue_due_jobs()
    mend_turns()
    for _ = 1, STEAL_STEPS do
        local got = call('XAUTOCLAIM', P .. 'jobs', GROUP, consumer, idle_ms, from, 'COUNT', 1)
        local taken = got[2][1]
        if taken then
            local entry, job = taken[1], taken[2][2]
            local j = job_of(job)
            if j.is_open and j.entry == entry then
                call('HSET', j.key, 'stolen', consumer)
                return entry .. '\n' .. job
            end
            drop_entry(entry)
        end
        from = got[1]
        if from == '0-0' then break end
    end
    return 'none'
end
