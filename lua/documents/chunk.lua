-- chunk: returns one passage of a document: its start and end, and the blocks of text that contain it. The document's
--   pack gives its position: a header of 32 bytes, then 24 bytes per chunk (shared/search/pack.h).
-- KEYS: doc:<doc> hash, pack:<doc>:<generation> string, text:<doc>:<n> hash.
-- Wakes: nobody.
-- Bound: PASSAGE_BLOCKS blocks of BLOCK_BYTES.
-- Lane: read.  Home: space.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   space  name
--   doc    name
--   index  number
-- Replies: missing | replay | ok/filename (JSON)/generation/start bytes/end bytes/start chars/end chars/page (0: it has
--   none)/first block, NUL, then the blocks as parts
local documents = require('documents/documents')
local passage_text = require('documents/passage_text')
local concat = table.concat

local function verb(turn, a)
    --- arguments
    local d = documents.read(turn, space, doc)
    local passage = d and passage_text.passage_of(turn, doc, d, index, d.filename)
    return passage and concat(passage) or 'missing'
end

return {chunk = verb}
