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

-- Would reading the file again give another text, because the caller's readers read more of its kind, or take its name
-- for another kind? Not while the bytes wait to be read.
local function is_worth_reading(turn, doc, had, file)
    local is_newer = had.kind == file.kind and tonumber(had.readers or 0) < (file.readers or 0)
    local is_other = file.readers and had.kind ~= file.kind and had.filename == file.filename
    return (is_newer or is_other) and call('EXISTS', turn.prefix .. 'upload:' .. doc) == 0
end

-- Is that document these bytes, under these names, and read as they would be read now?
local function is_duplicate(turn, doc, had, file)
    return had.sha == file.sha and had.status ~= 'FAILED'
        and (file.path == '' or (had.filename == file.filename and had.url == file.url))
        and not is_worth_reading(turn, doc, had, file)
end

-- Returns the reason not to store a file, as a reply; else nil, and the document that has the place already, if there
-- is one: its id, and what all verbs need of it. `file`: path, sha, filename, url, size, kind and readers of upload.
local function judge(turn, space, file, cap)
    local P = turn.prefix
    local doc, had
    if file.path ~= '' then
        doc = call('HGET', P .. 'paths:' .. space, file.path)
    else
        doc = call('HGET', P .. 'shas:' .. space, file.sha)
    end
    local used, going = storage.space_bytes(turn, space), 0
    if doc then
        had = documents.read(turn, space, doc)
        if is_duplicate(turn, doc, had, file) then
            return concat({'duplicate', doc, had.job, had.status, had.filename}, '\n')
        end
        going = storage.upload_bytes(turn, doc) + storage.loose_text_bytes(had)
    elseif call('ZCARD', P .. 'docs:' .. space) >= DOCS_MAX then
        return 'many'
    end
    if used - going + file.size > cap then return 'full\n' .. format('%d', used) .. '\n' .. format('%d', cap) end
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

-- The blocks that were pushed as `from` are the list `key` from here on.
local function take(turn, from, key)
    local pushed = pushed_key(turn, from)
    call('UNLINK', key)
    call('LPOP', pushed)
    call('RENAME', pushed, key)
    call('PERSIST', key)
end

return {begin = begin, judge = judge, is_whole = is_whole, drop = drop, take = take}
