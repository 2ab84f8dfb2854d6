-- docs: returns a page of a space's documents, newest first.
-- KEYS: docs:<space> zset, doc:<doc>, job:<job>, space:<space> hashes.
-- Wakes: nobody.
-- Bound: REPLY_BYTES, but one document at least; DOCS_PAGE documents.
-- Lane: slow.  Home: space.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   space   name
--   before  text? 24  created (ms): only earlier ones; from the newest on without
--   limit   number?   documents at most; DOCS_PAGE without
-- Replies: replay | ok/before for the next page ('' when there is none), then per document 19 lines: doc, filename
--   (JSON), type, size, status, created, updated (ms), chunks, path, job, its status, stage, progress, error (JSON or
--   ''), created, updated (ms), model ('' until it is indexed), is_old (1: the space has gone on to another model, or
--   dimension), sha (SHA-256 of its bytes, hex)
local documents = require('documents/documents')
local bounds = require('turn/bounds')
local call = redis.call
local format = string.format
local concat = table.concat
local min = math.min
local REPLY_BYTES = bounds.REPLY_BYTES

local DOCS_PAGE = 1000
local COMMANDS = 2 -- for a document

local function verb(turn, a)
    --- arguments
    local until_ms = before == '' and '+inf' or '(' .. before
    local text = {'ok', ''}
    local key, s = turn.prefix .. 'docs:' .. space, documents.embedding_of_space(turn, space)
    local n, bytes = min(limit or DOCS_PAGE, DOCS_PAGE), 0
    local page = call('ZREVRANGEBYSCORE', key, until_ms, '-inf', 'WITHSCORES', 'LIMIT', 0, n + 1)
    for i = 1, #page, 2 do
        if i > 1 and (i > 2 * n or bytes > REPLY_BYTES) then
            text[2] = format('%.0f', page[i - 1])
            break
        end
        bounds.note_read(turn, COMMANDS, 0)
        text[#text + 1] = documents.lines(turn, page[i], s)
        bytes = bytes + #(text[#text] or '')
    end
    return concat(text, '\n')
end

return {docs = verb}
