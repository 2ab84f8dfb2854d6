-- job_upload: returns where the bytes are that a job must parse. The indexer reads them directly, because a script
--   would copy them twice. If the job is lost in the meantime, its results are refused.
-- KEYS: job:<job>, upload:<doc>.
-- Wakes: nobody.
-- Bound: one job.
-- Lane: first.  Home: space.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   job    name
--   lease  text 20
-- Replies: lost | list | none (they are parsed already)
local jobs = require('documents/jobs')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local j = jobs.read_held(turn, job, lease)
    return j and call('TYPE', turn.prefix .. 'upload:' .. j.doc).ok or 'lost'
end

return {job_upload = verb}
