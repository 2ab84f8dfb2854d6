-- passage_text: one passage of a document, from its text and its pack.
local storage = require('documents/storage')
local call = redis.call
local format, sub = string.format, string.sub
local floor, max = math.floor, math.max

local PACK_HEADER, CHUNK_ROW, BLOCK_BYTES = 32, 24, 8192
local PASSAGE_BLOCKS = 4 -- a chunk is far shorter: more of them are none of ours

-- Returns what `chunk` answers, as a list to be joined; nil when there is no such chunk. `lines` are after "ok".
local function passage_of(turn, doc, d, index, lines)
    local key = storage.pack_key(turn, doc, d.generation)
    local header = call('GETRANGE', key, 0, PACK_HEADER - 1)
    if #header < PACK_HEADER or sub(header, 1, 4) ~= 'PPK1' or not index or index % 1 ~= 0 then return nil end
    if index < 0 or index >= struct.unpack('<I4', header, 5) then return nil end
    local at = PACK_HEADER + index * CHUNK_ROW
    local row = call('GETRANGE', key, format('%d', at), format('%d', at + CHUNK_ROW - 1))
    if #row < CHUNK_ROW then return nil end
    local from, to, from_chars, to_chars, _, page = struct.unpack('<I4I4I4I4I4I4', row)
    local first, last = floor(from / BLOCK_BYTES), floor(max(from, to - 1) / BLOCK_BYTES)
    if to < from or last - first >= PASSAGE_BLOCKS then return nil end
    local text = storage.text_key(turn, doc, d.old_text ~= '' and d.old_text or d.text)
    local where = format('\n%d\n%d\n%d\n%d\n%d\n%d\0', from, to, from_chars, to_chars, page, first)
    local list = {'ok\n' .. lines .. '\n' .. d.generation .. where}
    for block = first, last do
        local bytes = call('HGET', text, format('%d', block))
        if not bytes then return nil end
        storage.put_part(list, bytes)
    end
    return list
end

return {passage_of = passage_of}
