-- uploads: the bytes of an upload before it is a document: a list pushed:<doc> of blocks (1 MiB each, the last one
--   shorter: shared/redis/blocks.h), which the node fills by RPUSHX over a separate connection. Its first element is
--   the space of the upload, so the list exists before the first block, with a time to live: an abandoned list expires.
local documents = require('documents/documents')
local storage = require('documents/storage')
local call = redis.call
local format = string.format
local concat = table.concat
local DOCS_MAX = documents.DOCS_MAX

local PUSH_MS = 300000

local function pushed_key(turn, doc)
    return turn.prefix .. 'pushed:' .. doc
end

local function begin(turn, space, doc)
    local key = pushed_key(turn, doc)
    call('UNLINK', key)
    call('RPUSH', key, space)
    call('PEXPIRE', key, PUSH_MS)
end

-- Returns the reason not to store these bytes, as a reply; else nil, and the document that has the place already, if
-- there is one: its id, and what all verbs need of it.
local function judge(turn, space, path, sha, filename, url, size, cap)
    local P = turn.prefix
    local doc, had
    if path ~= '' then
        doc = call('HGET', P .. 'paths:' .. space, path)
    else
        doc = call('HGET', P .. 'shas:' .. space, sha)
    end
    local used, going = storage.space_bytes(turn, space), 0
    if doc then
        had = documents.read(turn, space, doc)
        local is_same = had.sha == sha and (path == '' or (had.filename == filename and had.url == url))
        if is_same and had.status ~= 'FAILED' then
            return concat({'duplicate', doc, had.job, had.status, had.filename}, '\n')
        end
        going = storage.upload_bytes(turn, doc) + storage.loose_text_bytes(had)
    elseif call('ZCARD', P .. 'docs:' .. space) >= DOCS_MAX then
        return 'many'
    end
    if used - going + size > cap then return 'full\n' .. format('%d', used) .. '\n' .. format('%d', cap) end
    return nil, doc, had
end

-- Are all blocks there that were pushed for this space?
local function is_whole(turn, space, doc, blocks)
    local key = pushed_key(turn, doc)
    return call('LLEN', key) == blocks + 1 and call('LINDEX', key, 0) == space
end

local function drop(turn, doc)
    call('UNLINK', pushed_key(turn, doc))
end

-- The blocks that were pushed as `from` are the bytes of `doc` from here on.
local function take(turn, from, doc)
    local pushed, key = pushed_key(turn, from), turn.prefix .. 'upload:' .. doc
    call('UNLINK', key)
    call('LPOP', pushed)
    call('RENAME', pushed, key)
    call('PERSIST', key)
end

return {begin = begin, judge = judge, is_whole = is_whole, drop = drop, take = take}
