-- storage: the bytes, texts and packs of documents, and how much of them counts towards their space's limit.
local hashes = require('turn/hashes')
local call = redis.call
local format = string.format

-- Bytes of one element of a vector set without its vector, which is an int8 per number: its name, its node
-- and its links. Redis's page on the memory of vector sets gives M * 2 + M * 0.33 pointers of links, with M = 16; the
-- whole was measured (used_memory of Redis 8.0: 815 to 837 for 4 to 1,024 numbers).
local ELEMENT_BYTES = 820

-- A string of any bytes in a reply that holds several, onto a list that is joined at the end: Redis's Lua hashes
-- every byte of every string that it makes, so bytes that are joined step by step cost as much as often.
local function put_part(list, bytes)
    local n = #list
    list[n + 1], list[n + 2] = #bytes .. ':', bytes
end

local function text_key(turn, doc, number)
    return turn.prefix .. 'text:' .. doc .. ':' .. number
end

local function pack_key(turn, doc, generation)
    return turn.prefix .. 'pack:' .. doc .. ':' .. generation
end

-- Bytes of the upload that waits to be parsed.
local function upload_bytes(turn, doc)
    local P = turn.prefix
    if call('EXISTS', P .. 'upload:' .. doc) == 0 then return 0 end
    return tonumber(call('HGET', P .. 'doc:' .. doc, 'size'))
end

local function space_bytes(turn, space)
    return tonumber(call('HGET', turn.prefix .. 'space:' .. space, 'bytes')) or 0
end

-- Bytes of the text that no pack points into: they go when new ones come.
local function loose_text_bytes(d)
    if d.generation == '0' or d.old_text ~= '' then return tonumber(d.text_bytes) end
    return 0
end

-- A new text is to come: the present one goes, or stays as old_text while the pack needs it.
local function shelve_text(turn, doc, d)
    if d.text == '' then return end
    if d.generation ~= '0' and d.old_text == '' then
        d.old_text, d.old_text_bytes = d.text, d.text_bytes
    else
        call('UNLINK', text_key(turn, doc, d.text))
    end
    d.text, d.text_bytes = '', '0'
    call('HSET', d.key, 'text', '', 'text_bytes', 0, 'old_text', d.old_text, 'old_text_bytes', d.old_text_bytes)
    call('HDEL', d.key, 'readers')
end

-- Returns the bytes of elements of a vector set, as they count for their owner: an estimate, the same when they go.
local function elements_bytes(n, dimension)
    return n * ((dimension or 0) + ELEMENT_BYTES)
end

-- Recounts what is stored for a document, and with it for its space: after each change of it.
local function count_bytes(turn, doc, space)
    local key = turn.prefix .. 'doc:' .. doc
    local d = hashes.fields(key, 'bytes', 'generation', 'text_bytes', 'old_text_bytes', 'vectors_n', 'dimension')
    local bytes = d.text_bytes + d.old_text_bytes + upload_bytes(turn, doc)
        + call('STRLEN', pack_key(turn, doc, d.generation)) + elements_bytes(d.vectors_n, d.dimension)
    if bytes == tonumber(d.bytes) then return end
    call('HSET', key, 'bytes', format('%d', bytes))
    call('HINCRBY', turn.prefix .. 'space:' .. space, 'bytes', format('%d', bytes - d.bytes))
end

return {
    put_part = put_part, text_key = text_key, pack_key = pack_key, upload_bytes = upload_bytes,
    space_bytes = space_bytes, loose_text_bytes = loose_text_bytes, shelve_text = shelve_text,
    elements_bytes = elements_bytes, count_bytes = count_bytes,
}
