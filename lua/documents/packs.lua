-- packs: returns packs that a node lacks: as many as fit, in order; the caller requests the rest. A deleted document
--   has an empty pack.
-- KEYS: doc:<doc> hashes, pack:<doc>:<generation> strings.
-- Wakes: nobody.
-- Bound: PACKS_BYTES, but one pack at least.
-- Lane: slow.  Home: space.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   space  name
--   each pack 400:
--     doc         name
--     generation  digits
-- Replies: per document six parts: doc, generation, filename (JSON), url (JSON or ''), digest of what its vectors are
--   of (embedding_of), pack. PACKS_BYTES, but one at least
local documents = require('documents/documents')
local storage = require('documents/storage')
local hashes = require('turn/hashes')
local call = redis.call

local PACKS_BYTES = 4194304

local function verb(turn, a)
    --- arguments
    local reply, bytes = {}, 0
    for i = pack_from, pack_to, 2 do
        local doc, generation, pack, embedding = args[i], args[i + 1], '', ''
        local d = hashes.fields(turn.prefix .. 'doc:' .. doc, 'space', 'filename', 'url', 'model', 'dimension')
        if d.space == space then
            local key = storage.pack_key(turn, doc, generation)
            bytes = bytes + call('STRLEN', key)
            if bytes > PACKS_BYTES and #reply > 0 then break end
            pack = call('GET', key) or ''
            embedding = documents.embedding_of(d.model, d.dimension)
        else
            d = {}
        end
        for _, one in ipairs({doc, generation, d.filename or '', d.url or '', embedding, pack}) do
            storage.put_part(reply, one)
        end
    end
    return reply
end

return {packs = verb}
