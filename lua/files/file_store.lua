-- file_store: creates a file from the pushed blocks. A refused one leaves no blocks.
-- Stops this race: two uploads that only fit separately have both begun: this verb checks again.
-- KEYS: file:<file> hash, file_bytes:<file>, pushed:<file> lists, files:<account>:<user>, files_due zsets,
--   filers:<user> set, stored.
-- Wakes: nobody.
-- Bound: one file, none of its bytes.
-- Lane: add.  Home: owner.  Nonce: no.  Full: refused.  Durable: yes.
-- Repeatable: gone then.
-- Arguments:
--   owner      name
--   account    name
--   user       name
--   file       name     as file_begin was given it
--   purpose    name
--   filename   json 2k
--   bytes      number
--   blocks     number   that were pushed
--   expires_s  number?  how long it is kept; until it is deleted without
--   max_stored           number?  as of file_begin
--   max_stored_per_user  number?  as of file_begin
-- Replies: ok, then 6 lines: id/bytes/created (ms)/expires (ms, or '')/filename (JSON)/purpose
--   | gone (not all blocks are there) | many | stored/bytes/limit/account or user
local uploads = require('documents/uploads')
local files = require('files/files')
local stored = require('queue/stored')
local format = string.format

local function verb(turn, a)
    --- arguments
    local refused = not uploads.is_whole(turn, owner, file, blocks) and 'gone'
        or not files.has_room(turn, account, user) and 'many'
        or files.count(turn, account, user, bytes, max_stored, max_stored_per_user)
    if refused then
        uploads.drop(turn, file)
        return refused
    end
    local f = {
        id = owner .. '-' .. file, account = account, user = user, purpose = purpose, filename = filename,
        bytes = bytes, created = turn.now_text,
        expires = expires_s and format('%d', turn.now_ms + expires_s * 1000) or '',
    }
    uploads.take(turn, file, files.bytes_key(turn, f.id))
    files.create(turn, f, max_stored and stored.whole(bytes) or 0)
    f.bytes = format('%d', bytes)
    return 'ok\n' .. files.as_text(f)
end

return {file_store = verb}
