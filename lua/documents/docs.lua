-- docs: a page of a space's documents, the newest first.
-- KEYS: docs:<space> zset, doc:<doc>, job:<job>, space:<space> hashes.
-- ARGV: nonce, space, before (created ms: only earlier ones; '' from the newest on), n (documents at most; ''
--   for DOCS_PAGE).
-- Returns: replay | ok/before for the next page ('' when there is none), then per document 16 lines: doc,
--   filename (JSON), type, size, status, created, updated (ms), chunks, path, job, its status, stage, progress,
--   error (JSON or ''), model ('' until it is indexed), is_old (1: the space has gone on to another model, or
--   dimension).
-- Wakes: nobody.  Repeatable: yes.
-- Bound: REPLY_BYTES, but one document at least; DOCS_PAGE documents.
local DOCS_PAGE = 1000

verbs.docs = function(a)
    if is_replayed(args[a]) then return 'replay' end
    local before = args[a + 2] == '' and '+inf' or '(' .. args[a + 2]
    local text = {'ok', ''}
    local key, s = P .. 'docs:' .. args[a + 1], embedding_of_space(args[a + 1])
    local n, bytes = min(tonumber(args[a + 3]) or DOCS_PAGE, DOCS_PAGE), 0
    local page = call('ZREVRANGEBYSCORE', key, before, '-inf', 'WITHSCORES', 'LIMIT', 0, n + 1)
    for i = 1, #page, 2 do
        if i > 1 and (i > 2 * n or bytes > REPLY_BYTES) then
            text[2] = format('%.0f', page[i - 1])
            break
        end
        text[#text + 1] = document_lines(page[i], s)
        bytes = bytes + #(text[#text] or '')
    end
    return concat(text, '\n')
end
