-- doc: one document of a space. One of another space is missing, as one that never was.
-- KEYS: doc:<doc>, job:<job>, space:<space> hashes.
-- Wakes: nobody.
-- Bound: one document.
-- Lane: read.  Home: space.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   space  name
--   doc    name
-- Replies: ok, then 16 lines as in docs | missing | replay
verbs.doc = function(a)
    --- arguments
    if not document_of(space, doc) then return 'missing' end
    return 'ok\n' .. document_lines(doc, embedding_of_space(space))
end
