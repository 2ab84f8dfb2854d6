-- doc_delete: deletes a document and everything stored for it, and cancels its job.
-- Stops this race: an indexer is working on it. What it has stored so far is deleted here; its next verb
--   replies `lost`, so it can store nothing afterwards.
-- KEYS: doc:<doc>, job:<job>, upload:<doc>, text:<doc>:<n>, pack:<doc>:<generation>, docs:<space>, space:<space>,
--   shas:<space>, paths:<space>, packs:<space>, recent_jobs:<space>, jobs, trash.
-- Wakes: watching nodes, if it was being indexed.
-- Bound: one document.
-- Lane: first.  Home: space.  Nonce: yes.  Full: runs.
-- Repeatable: the second time it is missing.
-- Arguments:
--   space  name
--   doc    name
-- Replies: ok | missing | replay
local documents = require('documents/documents')
local elements = require('documents/elements')
local jobs = require('documents/jobs')
local storage = require('documents/storage')
local call = redis.call
local format = string.format

-- The document that such a field names is gone, unless it names another one by now.
local function drop_name(key, field, doc)
    if field ~= '' and call('HGET', key, field) == doc then call('HDEL', key, field) end
end

-- Nothing is searched in the space any more: the next document may bring another model. With the last
-- document the space is gone.
local function leave_space(turn, space)
    local P = turn.prefix
    local key = P .. 'space:' .. space
    if call('EXISTS', P .. 'packs:' .. space) == 0 then call('HDEL', key, 'model', 'dimension', 'vectors') end
    if call('EXISTS', P .. 'docs:' .. space) == 0 then call('UNLINK', key, P .. 'recent_jobs:' .. space) end
end

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local d = documents.read(turn, space, doc)
    if not d then return 'missing' end
    jobs.retire(turn, d.job, '"The document was deleted."')
    call('ZREM', P .. 'recent_jobs:' .. space, d.job)
    elements.trash_elements(turn, space, d.vectors, doc, d.generation, d.vectors_n)
    call('UNLINK', d.key, P .. 'upload:' .. doc, storage.text_key(turn, doc, d.text),
         storage.text_key(turn, doc, d.old_text), storage.pack_key(turn, doc, d.generation))
    call('ZREM', P .. 'docs:' .. space, doc)
    drop_name(P .. 'shas:' .. space, d.sha, doc)
    drop_name(P .. 'paths:' .. space, d.path, doc)
    call('HINCRBY', P .. 'space:' .. space, 'bytes', format('%d', -d.bytes))
    if call('HDEL', P .. 'packs:' .. space, doc) == 1 then
        call('HINCRBY', P .. 'space:' .. space, 'chunks', format('%d', -d.chunks))
        documents.change_space(turn, space)
    end
    leave_space(turn, space)
    return 'ok'
end

return {doc_delete = verb}
