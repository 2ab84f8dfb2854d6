-- job_waiting: the job that waits longest for an indexer that can read its file; to be begun without an entry.
-- Several indexers may get the same one: the first to begin it has it.
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
