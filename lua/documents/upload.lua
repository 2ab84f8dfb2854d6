-- upload: creates a document from the pushed blocks, and its indexing job.
-- Guarantees: the same bytes are stored once in a space, and under one id; a document with a path (a file of a
--   collection) is identified by it instead, keeps its id when its bytes change, and keeps its old index until the new
--   bytes are indexed; nothing is stored beyond the cap. A FAILED document is stored again, and so is one of whose kind
--   more is read now. A refused upload leaves no blocks.
-- Stops this race: two uploads of the same bytes, or two that only fit separately, have both begun: this verb checks
--   again.
-- KEYS: doc:<doc>, job:<job> hashes, pushed:<doc>, upload:<doc> lists, docs:<space> zset, space:<space>, shas:<space>,
--   paths:<space> hashes, jobs stream; documents/documents.lua, turn/made.lua.
-- Wakes: the readers of the stream; watching nodes, if a job is cancelled.
-- Bound: one document, none of its bytes.
-- Lane: add.  Home: space.  Nonce: no.  Full: refused.  Durable: yes.
-- Repeatable: duplicate then.
-- Arguments:
--   space         name
--   doc           name       as upload_begin was given it
--   job           name       a new id
--   filename      json 8k
--   content_type  text 1k
--   kind          name
--   size          number     bytes
--   blocks        number     that were pushed
--   sha           name       hex
--   cap           number     bytes
--   path          text? 4k   of a file of a collection
--   url           json? 8k
--   is_reindex    flag       it may bring another model into the space
--   account       name?      whose turn the job takes; by its space alone without one
--   key           text? 2k   turn/made.lua
--   readers       number?    the version in which the caller's readers read that kind
-- Replies: ok/doc/job | made/doc/job, reused, as upload_begin | duplicate/doc/job/status/filename (JSON)
--   | full/used/cap | many (documents) | gone (not all blocks are there)
local jobs = require('documents/jobs')
local storage = require('documents/storage')
local uploads = require('documents/uploads')
local made = require('turn/made')
local order = require('turn/order')
local call = redis.call
local format = string.format

local function create_document(turn, space, doc, sha, path)
    local P = turn.prefix
    local created = order.next_ms(turn, P .. 'docs:' .. space) -- no page of them misses one
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
    local refused, earlier, had = made.again(turn, key), nil, nil
    if not refused then
        local file = {path = path, sha = sha, filename = filename, url = url, size = size, kind = kind,
                      readers = readers}
        refused, earlier, had = uploads.judge(turn, space, file, cap)
    end
    if not refused and not uploads.is_whole(turn, space, doc, blocks) then refused = 'gone' end
    if refused then
        uploads.drop(turn, doc)
        return refused
    end
    local pushed = doc
    if had then
        doc = earlier
        jobs.retire(turn, had.job, '"The document was uploaded again."')
        storage.shelve_text(turn, doc, had)
    else
        create_document(turn, space, doc, sha, path)
    end
    uploads.take(turn, pushed, P .. 'upload:' .. doc)
    call('HSET', P .. 'doc:' .. doc, 'filename', filename, 'type', content_type, 'kind', kind,
         'size', format('%d', size), 'sha', sha, 'url', url, 'status', 'QUEUED', 'updated', turn.now_text, 'job', job,
         'chars', 0, 'blocks', 0)
    storage.count_bytes(turn, doc, space)
    jobs.start(turn, space, doc, job, 'PARSE', is_reindex, account)
    made.keep(turn, key, 'made\n' .. doc .. '\n' .. job)
    return 'ok\n' .. doc .. '\n' .. job
end

return {upload = verb}
