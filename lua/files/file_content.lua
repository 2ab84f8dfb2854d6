-- file_content: returns a page of a file's bytes.
-- KEYS: file:<file>, file_bytes:<file>.
-- Wakes: nobody.
-- Bound: ends with the element of the list that reaches REPLY_BYTES: a block, or lines of a batch.
-- Lane: slow.  Home: owner.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   owner    name
--   account  name
--   user     name
--   file     name
--   from     number  of the first element
-- Replies: ok/from of the next page ('' when there is none)/bytes of the file, a NUL, then parts | missing | replay
local storage = require('documents/storage')
local files = require('files/files')
local bounds = require('turn/bounds')
local parts = require('turn/parts')
local call = redis.call
local format = string.format
local REPLY_BYTES = bounds.REPLY_BYTES

local ELEMENTS = 100 -- that are read with one command, if the first is short
local SHORT_BYTES = 8192

local function verb(turn, a)
    --- arguments
    local f = files.read_of(turn, owner .. '-' .. file, account, user)
    if not f then return 'missing' end
    local key, text, bytes, at = files.bytes_key(turn, f.id), {}, 0, from
    local n = call('LLEN', key)
    while at < n and bytes < REPLY_BYTES do
        local one = call('LINDEX', key, at)
        local list = #one > SHORT_BYTES and {one} or call('LRANGE', key, at, at + ELEMENTS - 1)
        bounds.note_read(turn, 1, 0)
        for i = 1, #list do
            if bytes >= REPLY_BYTES then break end
            storage.put_part(text, list[i])
            bytes, at = bytes + #list[i], at + 1
        end
    end
    return parts.put_first('ok\n' .. (at < n and format('%d', at) or '') .. '\n' .. f.bytes .. '\0', text)
end

return {file_content = verb}
