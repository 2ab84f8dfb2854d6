-- passages: the passages that a search found. One of a generation that is no longer searched is gone.
-- KEYS: as chunk.  ARGV: space, n, then n times doc, generation, chunk.
-- Returns: n parts: empty when it is gone, else ok/filename (JSON)/url (JSON or '')/generation/… as chunk.
-- Wakes: nobody.  Repeatable: yes.
verbs.passages = function(a)
    local space, parts = args[a], {}
    for i = 1, tonumber(args[a + 1]) do
        local at = a + i * 3 - 1
        local doc, passage = args[at], nil
        local d = document_of(space, doc)
        if d and d.generation == args[at + 1] then passage = passage_of(doc, d, tonumber(args[at + 2])) end
        parts[i] = part(passage and 'ok\n' .. d.filename .. '\n' .. d.url .. '\n' .. passage or '')
    end
    return concat(parts)
end
