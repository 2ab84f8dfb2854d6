-- nonce_of_add: with several shards, uses up the nonce of an add-query. A used nonce is admitted for ten minutes with
--   the mark it was used with; the topic knows whether that request has run (queue/resent.lua). So a node that dies
--   between this and the add loses nothing.
-- KEYS: nonces:<day>, nonce_marks:<minute> set with TTL, resent:<nonce> string with TTL.
-- Wakes: nobody.
-- Bound: one nonce.
-- Lane: first.  Home: nonce.  Nonce: again.  Full: runs.
-- Repeatable: yes, it is `again` then.
-- Arguments:
--   member  text 64  "<nonce> <mark>": its id (hex), and the mark of account, nonce and body (12 hex digits)
-- Replies: ok | again (it was used by an equal request) | replay
local nonce_marks = require('queue/nonce_marks')

local function verb(turn, a)
    --- arguments
    if is_replay then return nonce_marks.use_again(turn, member) end
    nonce_marks.note(turn, member)
    return 'ok'
end

return {nonce_of_add = verb}
