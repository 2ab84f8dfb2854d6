-- job_store: makes a document searchable by its new pack. In one atomic step the new pack is stored, the old one with
--   its text and elements is removed, and the job is done.
-- Stops this race: two indexers finish the same job; the lease of one of them has expired. A space has one embedding
--   model and one way to store vectors, determined by its searchable documents. A reindexing may use another model,
--   because a space changes document by document. Until all have changed, a search compares only vectors of its own
--   model and finds the other documents by words.
-- KEYS: job:<job>, doc:<doc>, pack:<doc>:<generation>, text:<doc>:<n>, space:<space>, packs:<space>, jobs,
--   recent_jobs:<space>, trash; meta.
-- Wakes: watching nodes.
-- Bound: one pack.
-- Lane: first.  Home: space.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   job        name
--   lease      text 20
--   model      text 1k
--   dimension  digits
--   backend    words exact|set  how its vectors are kept
--   chunks     digits
--   cap        number           bytes
--   version    digits           of the pack (PACK_VERSION in shared/search/pack.h)
--   pack       bytes 128m
-- Replies: ok | lost | mismatch/model/dimension/vectors (those of the space) | full/used/cap
local documents = require('documents/documents')
local elements = require('documents/elements')
local jobs = require('documents/jobs')
local storage = require('documents/storage')
local watchers = require('documents/watchers')
local hashes = require('turn/hashes')
local call = redis.call
local format = string.format
local concat = table.concat

-- Does another document of the space need another model, or its vectors elsewhere?
local function is_mismatch(turn, j, d, s, model, dimension, backend)
    local others = call('HLEN', turn.prefix .. 'packs:' .. j.space) - (d.generation ~= '0' and 1 or 0)
    if others == 0 then return false end
    if s.model ~= model or s.dimension ~= dimension then return j.is_reindex ~= '1' end
    return s.vectors ~= backend
end

-- Keeps what the job has in a vector set; forgets it if the pack holds the vectors itself.
local function finish_elements(turn, j, backend)
    if backend ~= 'set' then
        jobs.trash_job_elements(turn, j)
        j.digest, j.vectors_n = '', '0'
    end
end

local function swap_pack(turn, j, d, pack, version, chunks, model, dimension)
    call('SET', storage.pack_key(turn, j.doc, j.lease), pack)
    if d.generation ~= '0' then
        call('UNLINK', storage.pack_key(turn, j.doc, d.generation))
        elements.trash_elements(turn, j.space, d.vectors, j.doc, d.generation, d.vectors_n)
    end
    if d.old_text ~= '' then call('UNLINK', storage.text_key(turn, j.doc, d.old_text)) end
    call('HSET', d.key, 'generation', j.lease, 'pack_version', version, 'chunks', chunks, 'model', model,
         'dimension', dimension, 'vectors', j.digest, 'vectors_n', j.vectors_n, 'old_text', '', 'old_text_bytes', 0,
         'status', 'INDEXED', 'updated', turn.now_text)
    call('HSET', turn.prefix .. 'packs:' .. j.space, j.doc, j.lease)
    storage.count_bytes(turn, j.doc, j.space)
end

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local j, seen = jobs.read_held(turn, job, lease)
    if not j then return seen.status == 'DONE' and seen.lease == lease and 'ok' or 'lost' end
    local d = documents.read(turn, j.space, j.doc)
    local s = hashes.fields(P .. 'space:' .. j.space, 'model', 'dimension', 'vectors', 'bytes')
    if is_mismatch(turn, j, d, s, model, dimension, backend) then
        return concat({'mismatch', s.model, s.dimension, s.vectors}, '\n')
    end
    local going = call('STRLEN', storage.pack_key(turn, j.doc, d.generation)) + d.old_text_bytes
        + storage.elements_bytes(d.vectors_n, d.dimension)
    local coming = #pack + (backend == 'set' and storage.elements_bytes(j.vectors_n, dimension) or 0)
    if s.bytes - going + coming > cap then return 'full\n' .. s.bytes .. '\n' .. format('%d', cap) end
    finish_elements(turn, j, backend)
    swap_pack(turn, j, d, pack, version, chunks, model, dimension)
    call('HSET', P .. 'space:' .. j.space, 'model', model, 'dimension', dimension, 'vectors', backend)
    call('HINCRBY', P .. 'space:' .. j.space, 'chunks', format('%d', chunks - d.chunks))
    documents.change_space(turn, j.space)
    jobs.finish(turn, j, 'DONE', 'STORE', 100, '')
    local message = '"' .. chunks .. (chunks == '1' and ' passage' or ' passages') .. ' can be searched."'
    watchers.notify(turn, j.space, j.id, j.doc, 'index_complete', 'STORE', 100, message)
    return 'ok'
end

return {job_store = verb}
