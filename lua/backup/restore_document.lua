-- restore_document: a document, after its bytes, its texts and its pack. The indexes of its space are rebuilt from it:
-- docs:, shas:, paths:, packs:<space>, the counters of space:<space>. An unfinished job is queued again, and its
-- current attempt is not counted. A Redis without vector sets (`has_sets` 0) gets the document without its vectors: it
-- is found by words only and counts as one of another embedding, which `parley reindex` fixes.
-- KEYS: doc:<doc>, job:<job> hashes, upload:<doc>, pack:<doc>:<generation>, docs:, shas:, paths:, packs:, space:,
--   recent_jobs:<space>, waiting_jobs; documents/job_queue.lua.
-- Wakes: indexers that read the stream.
-- Bound: one document.
-- Lane: add.  Home: space.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   doc       name
--   has_sets  flag  this Redis knows vector sets
--   each pair 200:
--     field  text 1m   as services/backup/read.lua gives them
--     value  text? 64m
-- Replies: ok | without_vectors
local documents = require('documents/documents')
local job_queue = require('documents/job_queue')
local storage = require('documents/storage')
local call = redis.call
local format, match = string.format, string.match
local max = math.max

local function restore_job(turn, d, j, recent, waiting)
    local P = turn.prefix
    local job = d.job
    local is_open = j.status == 'QUEUED' or j.status == 'RUNNING'
    if is_open then
        if j.status == 'RUNNING' then j.attempt = format('%d', max(0, j.attempt - 1)) end
        if j.status == 'RUNNING' or d.status == 'INDEXING' then d.status, j.progress = 'QUEUED', '0' end
        j.status, j.lease, j.consumer, j.stolen, j.digest, j.vectors_n = 'QUEUED', '', '', '', '', '0'
        j.entry = ''
    end
    if recent then call('ZADD', P .. 'recent_jobs:' .. d.space, recent, job) end
    for field, value in pairs(j) do call('HSET', P .. 'job:' .. job, field, value) end
    if is_open and waiting then
        call('ZADD', P .. 'waiting_jobs', waiting, job)
    elseif is_open then
        job_queue.queue_job(turn, d.space, job, j.created)
    end
end

local function restore_space(turn, doc, d, s)
    local P = turn.prefix
    local space = d.space
    call('ZADD', P .. 'docs:' .. space, d.created, doc)
    if d.path ~= '' then
        call('HSET', P .. 'paths:' .. space, d.path, doc)
    else
        call('HSET', P .. 'shas:' .. space, d.sha, doc)
    end
    if d.generation == '0' then return end
    call('HSET', P .. 'packs:' .. space, doc, d.generation)
    for field, value in pairs(s) do call('HSET', P .. 'space:' .. space, field, value) end
    call('HINCRBY', P .. 'space:' .. space, 'chunks', d.chunks)
    documents.change_space(turn, space)
end

local function verb(turn, a)
    --- arguments
    local key, d, j, s, recent, waiting, reply = turn.prefix .. 'doc:' .. doc, {}, {}, {}, nil, nil, 'ok'
    if call('EXISTS', key) == 1 then return reply end
    for i = pair_from, pair_to, 2 do
        local field, value = args[i], args[i + 1]
        local what, of = match(field, '^@(%a+) ?(.*)$')
        if not what then d[field] = value
        elseif what == 'job' then j[of] = value
        elseif what == 'space' then s[of] = value
        elseif what == 'recent' then recent = value
        elseif what == 'waiting' then waiting = value
        end
    end
    if s.vectors == 'set' and not has_sets then s.vectors = 'exact' end
    if d.vectors ~= '' and not has_sets then
        d.vectors, d.vectors_n, d.model, d.dimension, reply = '', '0', '', '0', 'without_vectors'
    end
    if j.status then restore_job(turn, d, j, recent, waiting) end
    d.bytes = '0'
    for field, value in pairs(d) do call('HSET', key, field, value) end
    restore_space(turn, doc, d, s)
    storage.count_bytes(turn, doc, d.space)
    return reply
end

return {restore_document = verb}
