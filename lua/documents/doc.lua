-- doc: returns one document of a space. A document of another space is `missing`, like one that does not exist.
-- KEYS: doc:<doc>, job:<job>, space:<space> hashes.
-- Wakes: nobody.
-- Bound: one document.
-- Lane: read.  Home: space.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   space  name
--   doc    name
-- Replies: ok, then 19 lines as in docs | missing | replay
local documents = require('documents/documents')

local function verb(turn, a)
    --- arguments
    if not documents.read(turn, space, doc) then return 'missing' end
    return 'ok\n' .. documents.lines(turn, doc, documents.embedding_of_space(turn, space))
end

return {doc = verb}
