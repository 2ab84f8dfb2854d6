-- upload_begin: checks whether an upload is allowed and creates the list for its blocks, which the node pushes before
--   it calls `upload`. So a refused upload (rate or storage limit, duplicate) never sends its bytes to Redis.
-- Guarantees: the list expires if no `upload` takes it over within five minutes.
-- KEYS: pushed:<doc> list; docs:<space>, space:<space>, shas:<space>, paths:<space>, doc:<doc>; auth/limiter.lua,
--   turn/made.lua.
-- Wakes: nobody.
-- Bound: one document.
-- Lane: add.  Home: space.  Nonce: yes.  Full: refused.
-- Repeatable: yes, before any block.
-- Arguments:
--   space     name
--   limits    text? 4k
--   doc       name       a new id
--   filename  json 8k
--   size      number     bytes
--   sha       name       hex
--   cap       number     bytes
--   path      text? 4k   of a file of a collection
--   url       json? 8k
--   key       text? 2k   turn/made.lua
--   kind      name?      as of upload
--   readers   number?    as of upload
-- Replies: made/doc/job (under that key, before) | reused | ok/left | duplicate/left/doc/job/status/filename
--   | full/left/used/cap | many/left (documents) | limited/retry ms/limit/window s | replay; `left` as in admit
local limiter = require('auth/limiter')
local uploads = require('documents/uploads')
local made = require('turn/made')
local match = string.match

local function verb(turn, a)
    --- arguments
    local again = made.again(turn, key)
    if again then return again end
    local limited, left = limiter.admit(turn, limits)
    if limited then return limited end
    local file = {path = path, sha = sha, filename = filename, url = url, size = size, kind = kind, readers = readers}
    local refused = uploads.judge(turn, space, file, cap)
    if refused then
        local word, rest = match(refused, '^(%l+)(.*)$')
        return word .. '\n' .. left .. rest
    end
    uploads.begin(turn, space, doc)
    return 'ok\n' .. left
end

return {upload_begin = verb}
