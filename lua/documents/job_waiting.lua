-- job_waiting: returns the job that has waited longest for an indexer that can read its file; begin it without an
--   entry. Several indexers may get the same job; the first to begin it keeps it.
-- KEYS: waiting_jobs zset, job:<job> hash.
-- Wakes: nobody.
-- Bound: one job.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments: none.
-- Replies: the job | none
local call = redis.call

local function verb(turn, a)
    return call('ZRANGE', turn.prefix .. 'waiting_jobs', 0, 0)[1] or 'none'
end

return {job_waiting = verb}
