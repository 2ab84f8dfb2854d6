-- removal: deletes a document with everything stored for it.
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

-- Removes a document and cancels its job. Returns the job and how many bytes were stored for it, nil when the space has
-- no such document.
local function remove(turn, space, doc)
    local P = turn.prefix
    local d = documents.read(turn, space, doc)
    if not d then return nil end
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
    return d.job, tonumber(d.bytes)
end

return {remove = remove}
