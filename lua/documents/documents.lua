-- documents: the stored parts of a document.
--
-- A document is a hash doc:<doc>; its bytes (upload:<doc>) are kept until they are parsed, its text
-- (text:<doc>:<number>) permanently. Searches use the pack of its newest indexing (pack:<doc>:<generation>). A
-- generation is the lease of the job that created it, a text's number the lease of the job that parsed it
-- (documents/jobs.lua). When a searchable document gets new bytes, its pack still points into the old text, which is
-- kept as `old_text` until the next pack is in place.
local counters = require('turn/counters')
local hashes = require('turn/hashes')
local call = redis.call
local concat = table.concat

local DOCS_MAX = 10000 -- of a space

-- A document of that space with what all verbs need of it; nil for one of another space, too.
local function read(turn, space, doc)
    local key = turn.prefix .. 'doc:' .. doc
    local d = hashes.fields(key, 'space', 'filename', 'kind', 'url', 'status', 'sha', 'path', 'job', 'generation',
                            'chunks', 'bytes', 'readers', 'text', 'text_bytes', 'old_text', 'old_text_bytes',
                            'vectors', 'vectors_n', 'dimension')
    if d.space ~= space then return nil end
    d.key = key
    return d
end

-- Which vectors may be compared: those of one model and of one dimension. A digest of both, which the nodes
-- and indexers make too (shared/embed/embed.h). A document that states no dimension is of one that nobody asks for.
local function embedding_of(model, dimension)
    return redis.sha1hex(model .. ' ' .. (dimension or 0))
end

-- Returns what a person sees of a document, 19 lines; nil when it is gone. `s`: model and dimension of its space.
local function lines(turn, doc, s)
    local P = turn.prefix
    local got = call('HMGET', P .. 'doc:' .. doc, 'filename', 'type', 'size', 'status', 'created', 'updated',
                     'chunks', 'path', 'job', 'model', 'dimension', 'generation', 'sha')
    if not got[1] then return nil end
    local job = call('HMGET', P .. 'job:' .. got[9], 'status', 'stage', 'progress', 'error', 'created', 'updated')
    for i = 1, 6 do job[i] = job[i] or '' end
    local is_old = got[12] ~= '0' and (got[10] ~= s.model or got[11] ~= s.dimension)
    return doc .. '\n' .. concat(got, '\n', 1, 9) .. '\n' .. concat(job, '\n') .. '\n' .. got[10] .. '\n'
        .. (is_old and 1 or 0) .. '\n' .. (got[13] or '')
end

local function embedding_of_space(turn, space)
    return hashes.fields(turn.prefix .. 'space:' .. space, 'model', 'dimension')
end

-- Notes that what a search may find in that space has changed. The number comes from the counter that only rises,
-- so one of a space that was empty in between is a new one, too.
local function change_space(turn, space)
    call('HSET', turn.prefix .. 'space:' .. space, 'version', counters.next_lease(turn))
end

return {
    DOCS_MAX = DOCS_MAX, read = read, embedding_of = embedding_of, lines = lines,
    embedding_of_space = embedding_of_space, change_space = change_space,
}
