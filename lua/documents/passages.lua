-- passages: returns the passages that a search found. A passage of an outdated generation is gone.
-- KEYS: as chunk.
-- Wakes: nobody.
-- Bound: as chunk, for each that is named.
-- Lane: read.  Home: space.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   space  name
--   each passage 100:
--     doc         name
--     generation  digits
--     chunk       digits
-- Replies: n parts: empty when it is gone, else ok/filename (JSON)/url (JSON or '')/generation/… as chunk
local documents = require('documents/documents')
local passage_text = require('documents/passage_text')
local bounds = require('turn/bounds')
local concat = table.concat

local BLOCK_BYTES = 8192 -- of the text that a passage is part of

local function verb(turn, a)
    --- arguments
    local reply = {}
    for at = passage_from, passage_to, 3 do
        local doc, passage, size = args[at], nil, 0
        local d = documents.read(turn, space, doc)
        bounds.note_read(turn, 3, BLOCK_BYTES)
        if d and d.generation == args[at + 1] then
            passage = passage_text.passage_of(turn, doc, d, tonumber(args[at + 2]), d.filename .. '\n' .. d.url)
        end
        for k = 1, passage and #passage or 0 do size = size + #tostring(passage[k]) end
        reply[#reply + 1] = size .. ':'
        for k = 1, passage and #passage or 0 do reply[#reply + 1] = passage[k] end
    end
    return concat(reply)
end

return {passages = verb}
