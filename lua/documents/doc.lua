-- doc: one document of a space. One of another space is missing, as one that never was.
-- KEYS: doc:<doc>, job:<job>, space:<space> hashes.  ARGV: nonce, space, doc.
-- Returns: ok, then 16 lines as in docs | missing | replay.  Wakes: nobody.  Repeatable: yes.
-- Bound: one document.
verbs.doc = function(a)
    if is_replayed(args[a]) then return 'replay' end
    if not document_of(args[a + 1], args[a + 2]) then return 'missing' end
    return 'ok\n' .. document_lines(args[a + 2], embedding_of_space(args[a + 1]))
end
