-- passages: the passages that a search found. One of a generation that is no longer searched is gone.
-- KEYS: as chunk.  ARGV: space, n, then n times doc, generation, chunk.
-- Returns: n parts: empty when it is gone, else ok/filename (JSON)/url (JSON or '')/generation/… as chunk.
-- Wakes: nobody.  Repeatable: yes.
-- Bound: as chunk, for each that is named.
verbs.passages = function(a)
    local space, reply = args[a], {}
    for i = 1, tonumber(args[a + 1]) do
        local at = a + i * 3 - 1
        local doc, passage, size = args[at], nil, 0
        local d = document_of(space, doc)
        if d and d.generation == args[at + 1] then
            passage = passage_of(doc, d, tonumber(args[at + 2]), d.filename .. '\n' .. d.url)
        end
        for k = 1, passage and #passage or 0 do size = size + #tostring(passage[k]) end
        reply[#reply + 1] = size .. ':'
        for k = 1, passage and #passage or 0 do reply[#reply + 1] = passage[k] end
    end
    return concat(reply)
end
