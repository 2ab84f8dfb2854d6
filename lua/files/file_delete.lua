-- file_delete: deletes a file with its bytes. A batch that reads it fails with its next line.
-- KEYS: file:<file>, file_bytes:<file>, files:<account>:<user>, files_due, filers:<user>, stored.
-- Wakes: nobody.
-- Bound: one file.
-- Lane: first.  Home: owner.  Nonce: yes.  Full: runs.  Durable: yes.
-- Repeatable: missing then.
-- Arguments:
--   owner    name
--   account  name
--   user     name
--   file     name
-- Replies: ok | missing | replay
local files = require('files/files')

local function verb(turn, a)
    --- arguments
    local f = files.read_of(turn, owner .. '-' .. file, account, user)
    if not f then return 'missing' end
    files.drop(turn, f)
    return 'ok'
end

return {file_delete = verb}
