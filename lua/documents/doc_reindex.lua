-- doc_reindex: creates a new job for a document from its stored text, after a change of the embedding model or a failed
--   indexing. Its current index stays searchable until the job is done.
-- KEYS: doc:<doc>, job:<job> hashes, upload:<doc> string, jobs stream; turn/made.lua.
-- Wakes: the readers of the stream.
-- Bound: one document.
-- Lane: add.  Home: space.  Nonce: yes.  Full: refused.  Durable: yes.
-- Repeatable: yes, while the job is not done.
-- Arguments:
--   space    name
--   doc      name
--   job      name     a new id
--   account  name?    as of upload
--   key      text? 2k turn/made.lua
-- Replies: reused | ok/job (the unfinished one, if there is one) | missing | gone (neither text nor bytes are there:
--   upload it again) | replay
local documents = require('documents/documents')
local jobs = require('documents/jobs')
local made = require('turn/made')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local again = made.again(turn, key)
    if again then return again end
    local d = documents.read(turn, space, doc)
    if not d then return 'missing' end
    if jobs.read(turn, d.job).is_open then return made.keep(turn, key, 'ok\n' .. d.job) end
    if d.text == '' then return 'gone' end
    jobs.retire(turn, d.job, '')
    call('HSET', d.key, 'status', 'QUEUED', 'updated', turn.now_text, 'job', job)
    jobs.start(turn, space, doc, job, 'CHUNK', true, account)
    return made.keep(turn, key, 'ok\n' .. job)
end

return {doc_reindex = verb}
