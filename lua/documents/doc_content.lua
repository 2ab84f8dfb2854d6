-- doc_content: returns a page of a document's content: the uploaded bytes while they are stored, otherwise its text. A
--   text requested by number is exactly that one, or `gone`.
-- KEYS: doc:<doc>, upload:<doc>, text:<doc>:<n>.
-- Wakes: nobody.
-- Bound: one block of an upload (1 MiB); of a text it ends with the block that reaches REPLY_BYTES.
-- Lane: slow.  Home: space.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   space  name
--   doc    name
--   what   text? 32  '' at first: whichever there is; then the third line of the former reply
--   from   number    of the first block
-- Replies: missing | replay | gone (it was replaced meanwhile) | ok/from of the next page ('' when there is none)/what
--   it is: `upload`, `text.<n>` or `none`, a NUL, then blocks as parts: bytes, or of a text 8 KiB each (raw deflate)
local documents = require('documents/documents')
local storage = require('documents/storage')
local bounds = require('turn/bounds')
local parts = require('turn/parts')
local call = redis.call
local format, sub = string.format, string.sub
local REPLY_BYTES = bounds.REPLY_BYTES

local function answer(what, next_from, text)
    return parts.put_first('ok\n' .. next_from .. '\n' .. what .. '\0', text)
end

local function upload_page(key, from)
    local text, n = {}, call('LLEN', key)
    storage.put_part(text, call('LINDEX', key, from) or '')
    return answer('upload', from + 1 < n and format('%d', from + 1) or '', text)
end

local function text_page(key, what, from)
    local text, bytes, n = {}, 0, call('HLEN', key)
    for block = from, n - 1 do
        local one = call('HGET', key, format('%d', block)) or ''
        storage.put_part(text, one)
        bytes = bytes + #one
        if bytes >= REPLY_BYTES and block < n - 1 then return answer(what, format('%d', block + 1), text) end
    end
    return answer(what, '', text)
end

local function verb(turn, a)
    --- arguments
    local d = documents.read(turn, space, doc)
    if not d then return 'missing' end
    local upload = turn.prefix .. 'upload:' .. doc
    local has_upload = call('EXISTS', upload) == 1
    local number = d.text ~= '' and d.text or d.old_text
    local stored = has_upload and 'upload' or number ~= '' and 'text.' .. number or 'none'
    if what == '' then what = stored end
    if what == 'upload' then return has_upload and upload_page(upload, from) or 'gone' end
    if what == 'none' then return answer(what, '', '') end
    local key = storage.text_key(turn, doc, sub(what, 6))
    return call('EXISTS', key) == 1 and text_page(key, what, from) or 'gone'
end

return {doc_content = verb}
