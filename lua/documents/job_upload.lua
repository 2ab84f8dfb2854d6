-- job_upload: the bytes that a job is to parse.
-- KEYS: job:<job>, upload:<doc>.
-- Wakes: nobody.
-- Bound: the bytes of one upload, which may be no larger than --upload-max-mib says.
-- Lane: first.  Home: space.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   job    name
--   lease  text 20
-- Replies: lost | the bytes as a part; nothing when they are parsed already
local jobs = require('documents/jobs')
local storage = require('documents/storage')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local j = jobs.read_held(turn, job, lease)
    if not j then return 'lost' end
    local bytes = call('GET', turn.prefix .. 'upload:' .. j.doc)
    return bytes and storage.part(bytes) or ''
end

return {job_upload = verb}
