-- upload: stores a document's bytes, and the job that indexes them.
-- Guarantees: the same bytes are stored once in a space, and under one id; a document that has a path (a file
--   of a collection) is known by it instead, keeps its id when it gets other bytes, and stays searchable as
--   it was until these are indexed; nothing is stored past the cap. What FAILED is stored again.
-- KEYS: doc:<doc>, job:<job> hashes, upload:<doc> string, docs:<space> zset, space:<space>, shas:<space>,
--   paths:<space> hashes, jobs stream; include/limit.lua, include/documents.lua.
-- Wakes: whoever reads the stream; watching nodes, if a job is cancelled.
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

-- Ids are in the order of this number, so that no page of them misses one.
local function creation_ms(space)
    local last = call('ZRANGE', P .. 'docs:' .. space, -1, -1, 'WITHSCORES')[2]
    return format('%d', max(now_ms, (tonumber(last) or 0) + 1))
end

local function create_document(space, doc, sha, path)
    local created = creation_ms(space)
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

verbs.upload = function(a)
    --- arguments
    local refused = admit(limits)
    if refused then return refused end
    local earlier
    if path ~= '' then
        earlier = call('HGET', P .. 'paths:' .. space, path)
    else
        earlier = call('HGET', P .. 'shas:' .. space, sha)
    end
    local used, going, had = space_bytes(space), 0, nil
    if earlier then
        doc, had = earlier, document_of(space, earlier)
        local is_same = had.sha == sha and (path == '' or (had.filename == filename and had.url == url))
        if is_same and had.status ~= 'FAILED' then
            return 'duplicate\n' .. doc .. '\n' .. had.job .. '\n' .. had.status
        end
        going = call('STRLEN', P .. 'upload:' .. doc) + loose_text_bytes(had)
    elseif call('ZCARD', P .. 'docs:' .. space) >= DOCS_MAX then
        return 'many'
    end
    if used - going + #bytes > cap then
        return 'full\n' .. format('%d', used) .. '\n' .. format('%d', cap)
    end
    if had then
        retire_job(had.job, '"The document was uploaded again."')
        shelve_text(doc, had)
    else
        create_document(space, doc, sha, path)
    end
    call('SET', P .. 'upload:' .. doc, bytes)
    call('HSET', P .. 'doc:' .. doc, 'filename', filename, 'type', content_type, 'kind', kind,
         'size', size, 'sha', sha, 'url', url, 'status', 'QUEUED', 'updated', now_text, 'job', job,
         'chars', 0, 'blocks', 0)
    count_bytes(doc, space)
    start_job(space, doc, job, 'PARSE', is_reindex)
    return 'ok\n' .. doc .. '\n' .. job
end
