-- upload_begin: an upload is to come: may it? Then there is a list for its blocks, which the node pushes before it
-- calls `upload`. So what is refused (the owner's rate or room, a duplicate) never sends its bytes to Redis.
-- Guarantees: the list is gone by itself if nobody takes it over within five minutes.
-- KEYS: pushed:<doc> list; docs:<space>, space:<space>, shas:<space>, paths:<space>, doc:<doc>; auth/limiter.lua.
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
-- Replies: ok | duplicate/doc/job/status | limited/retry ms/limit/window s | full/used/cap | many (documents) | replay
local limiter = require('auth/limiter')
local uploads = require('documents/uploads')

local function verb(turn, a)
    --- arguments
    local refused = limiter.admit(turn, limits) or uploads.judge(turn, space, path, sha, filename, url, size, cap)
    if refused then return refused end
    uploads.begin(turn, space, doc)
    return 'ok'
end

return {upload_begin = verb}
