-- file_show: returns a file without its bytes.
-- KEYS: file:<file>.
-- Wakes: nobody.
-- Bound: one file.
-- Lane: read.  Home: owner.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   owner    name
--   account  name
--   user     name
--   file     name
-- Replies: ok, then 6 lines as file_store | missing | replay
local files = require('files/files')

local function verb(turn, a)
    --- arguments
    local f = files.read_of(turn, owner .. '-' .. file, account, user)
    return f and 'ok\n' .. files.as_text(f) or 'missing'
end

return {file_show = verb}
