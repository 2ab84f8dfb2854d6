-- upload: stores a document's bytes, and the job that indexes them.
-- Guarantees: the same bytes are stored once in a space, and under one id; a document that has a path (a file
--   of a collection) is known by it instead, keeps its id when it gets other bytes, and stays searchable as
--   it was until these are indexed; nothing is stored past the cap. What FAILED is stored again.
-- KEYS: doc:<doc>, job:<job> hashes, upload:<doc> string, docs:<space> zset, space:<space>, shas:<space>,
--   paths:<space> hashes, jobs stream; auth/limiter.lua, documents/documents.lua.
-- Wakes: the readers of the stream; watching nodes, if a job is cancelled.
-- Bound: the bytes that it brings.
-- Lane: add.  Home: space.  Nonce: yes.  Full: refused.
-- Repeatable: duplicate then.
-- Arguments:
--   space         name
--   limits        text? 4k
--   doc           name       a new id
--   job           name       a new id
--   filename      json 8k
--   content_type  text 1k
--   kind          name
--   size          digits
--   sha           name       hex
--   bytes         bytes? 32m
--   cap           number     bytes
--   path          text? 4k   of a file of a collection
--   url           json? 8k
--   is_reindex    flag       it may bring another model into the space
-- Replies: ok/doc/job | duplicate/doc/job/status | limited/retry ms/limit/window s | full/used/cap | many (documents)
--   | replay
local limiter = require('auth/limiter')
local documents = require('documents/documents')
local jobs = require('documents/jobs')
local storage = require('documents/storage')
local call = redis.call
local format = string.format
local max = math.max
local DOCS_MAX = documents.DOCS_MAX

-- Ids are in the order of this number, so that no page of them misses one.
local function creation_ms(turn, space)
    local last = call('ZRANGE', turn.prefix .. 'docs:' .. space, -1, -1, 'WITHSCORES')[2]
    return format('%d', max(turn.now_ms, (tonumber(last) or 0) + 1))
end

local function create_document(turn, space, doc, sha, path)
    local P = turn.prefix
    local created = creation_ms(turn, space)
    call('ZADD', P .. 'docs:' .. space, created, doc)
    if path ~= '' then
        call('HSET', P .. 'paths:' .. space, path, doc)
    else
        call('HSET', P .. 'shas:' .. space, sha, doc)
    end
    call('HSET', P .. 'doc:' .. doc, 'space', space, 'created', created, 'path', path, 'generation', 0, 'chunks', 0,
         'model', '', 'dimension', 0, 'vectors', '', 'vectors_n', 0, 'bytes', 0, 'text', '', 'text_bytes', 0,
         'old_text', '', 'old_text_bytes', 0)
end

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local refused = limiter.admit(turn, limits)
    if refused then return refused end
    local earlier
    if path ~= '' then
        earlier = call('HGET', P .. 'paths:' .. space, path)
    else
        earlier = call('HGET', P .. 'shas:' .. space, sha)
    end
    local used, going, had = storage.space_bytes(turn, space), 0, nil
    if earlier then
        doc, had = earlier, documents.read(turn, space, earlier)
        local is_same = had.sha == sha and (path == '' or (had.filename == filename and had.url == url))
        if is_same and had.status ~= 'FAILED' then
            return 'duplicate\n' .. doc .. '\n' .. had.job .. '\n' .. had.status
        end
        going = call('STRLEN', P .. 'upload:' .. doc) + storage.loose_text_bytes(had)
    elseif call('ZCARD', P .. 'docs:' .. space) >= DOCS_MAX then
        return 'many'
    end
    if used - going + #bytes > cap then
        return 'full\n' .. format('%d', used) .. '\n' .. format('%d', cap)
    end
    if had then
        jobs.retire(turn, had.job, '"The document was uploaded again."')
        storage.shelve_text(turn, doc, had)
    else
        create_document(turn, space, doc, sha, path)
    end
    call('SET', P .. 'upload:' .. doc, bytes)
    call('HSET', P .. 'doc:' .. doc, 'filename', filename, 'type', content_type, 'kind', kind,
         'size', size, 'sha', sha, 'url', url, 'status', 'QUEUED', 'updated', turn.now_text, 'job', job,
         'chars', 0, 'blocks', 0)
    storage.count_bytes(turn, doc, space)
    jobs.start(turn, space, doc, job, 'PARSE', is_reindex)
    return 'ok\n' .. doc .. '\n' .. job
end

return {upload = verb}
