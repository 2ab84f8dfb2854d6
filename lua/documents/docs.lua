-- docs: a page of a space's documents, the newest first.
-- KEYS: docs:<space> zset, doc:<doc>, job:<job>, space:<space> hashes.
-- ARGV: nonce, space, before (created ms: only earlier ones; '' from the newest on).
-- Returns: replay | ok/n, then n times 16 lines: doc, filename (JSON), type, size, status, created, updated (ms),
--   chunks, path, job, its status, stage, progress, error (JSON or ''), model ('' until it is indexed), is_old (1:
--   the space has gone on to another model, or dimension).  DOCS_PAGE at most.
-- Wakes: nobody.  Repeatable: yes.
local DOCS_PAGE = 1000

verbs.docs = function(a)
    if is_replayed(args[a]) then return 'replay' end
    local before = args[a + 2] == '' and '+inf' or '(' .. args[a + 2]
    local text = {'ok', ''}
    local key, s = P .. 'docs:' .. args[a + 1], embedding_of_space(args[a + 1])
    for _, doc in ipairs(call('ZREVRANGEBYSCORE', key, before, '-inf', 'LIMIT', 0, DOCS_PAGE)) do
        text[#text + 1] = document_lines(doc, s)
    end
    text[2] = #text - 2
    return concat(text, '\n')
end
