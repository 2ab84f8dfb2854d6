-- job_upload: where the bytes are that a job is to parse. The indexer reads them itself, block by block: a script
-- would copy each of them twice. When the job is lost meanwhile they are another's, or gone; what it makes of them is
-- refused then.
-- KEYS: job:<job>, upload:<doc>.
-- Wakes: nobody.
-- Bound: one job.
-- Lane: first.  Home: space.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   job    name
--   lease  text 20
-- Replies: lost | list | string (of the former version) | none (they are parsed already)
local jobs = require('documents/jobs')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local j = jobs.read_held(turn, job, lease)
    return j and call('TYPE', turn.prefix .. 'upload:' .. j.doc).ok or 'lost'
end

return {job_upload = verb}
