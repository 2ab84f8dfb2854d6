-- job_parsed: stores the text of a document and deletes the bytes that it was read from.
-- KEYS: job:<job>, doc:<doc>, upload:<doc>, text:<doc>:<n>, space:<space>.
-- Wakes: nobody.
-- Bound: the text in the call.
-- Lane: first.  Home: space.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   job      name
--   lease    text 20
--   chars    digits
--   cap      number   bytes
--   pages    bytes? 400k  where its pages begin (shared/text/text_pages.h); of some formats
--   readers  digits   the version in which it was read (extract_readers_version)
--   each block 5000:
--     text  text 8k  of the text
-- Replies: ok | lost | full/used/cap
local documents = require('documents/documents')
local jobs = require('documents/jobs')
local storage = require('documents/storage')
local bounds = require('turn/bounds')
local call = redis.call
local format = string.format

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local j = jobs.read_held(turn, job, lease)
    if not j then return 'lost' end
    local d = documents.read(turn, j.space, j.doc)
    local size, used = #pages, storage.space_bytes(turn, j.space)
    for i = block_from, block_to do size = size + #args[i] end
    if used - storage.upload_bytes(turn, j.doc) - storage.loose_text_bytes(d) + size > cap then
        return 'full\n' .. format('%d', used) .. '\n' .. format('%d', cap)
    end
    bounds.note_read(turn, block_to - block_from + 1, 0)
    storage.shelve_text(turn, j.doc, d)
    for i = block_from, block_to do
        call('HSET', storage.text_key(turn, j.doc, j.lease), format('%d', i - block_from), args[i])
    end
    if pages ~= '' then call('HSET', storage.text_key(turn, j.doc, j.lease), 'pages', pages) end
    call('UNLINK', P .. 'upload:' .. j.doc)
    call('HSET', d.key, 'text', j.lease, 'text_bytes', format('%d', size), 'readers', readers,
         'chars', chars, 'blocks', format('%d', block_to - block_from + 1))
    storage.count_bytes(turn, j.doc, j.space)
    call('HSET', j.key, 'stage', 'CHUNK', 'updated', turn.now_text)
    return 'ok'
end

return {job_parsed = verb}
