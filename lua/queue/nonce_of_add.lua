-- nonce_of_add: uses up the nonce of an add-query, of several shards. A used one is let through for ten minutes with
-- the mark that it was used with: whether that request has run, the topic knows (queue/resent.lua). So a node that dies
-- between this and the add loses nothing.
-- KEYS: nonces:<day>, bound:nonce:<nonce> string with TTL.
-- Wakes: nobody.
-- Bound: one nonce.
-- Lane: first.  Home: nonce.  Nonce: again.  Full: runs.
-- Repeatable: yes, it is `again` then.
-- Arguments:
--   nonce  name  its id (hex)
--   mark   name  of account, nonce and body (12 hex digits)
-- Replies: ok | again (it was used by an equal request) | replay
local bound = require('queue/bound')
local resent = require('queue/resent')
local RESENT_MS = resent.RESENT_MS

local function verb(turn, a)
    --- arguments
    local name = 'nonce:' .. nonce
    local n = (not is_replay or bound.is_to(turn, name, mark)) and bound.bind(turn, name, mark, RESENT_MS)
    if not n then return 'replay' end
    return n == 1 and 'ok' or 'again'
end

return {nonce_of_add = verb}
