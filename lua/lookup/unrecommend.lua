-- unrecommend: removes a recommendation for an operator. Its bytes no longer count, and engines that have read it get
--   its id with their next page.
-- KEYS: recommendations, unrecommended, recommenders, recommenders:<account>, recommended:<account>:<user>,
--   judged:<account>:<user>; stored.
-- Wakes: nobody.
-- Bound: one recommendation, and the list of its user's ids.
-- Lane: add.  Home: cluster.  Nonce: yes.  Full: runs.  Durable: yes.
-- Repeatable: missing then.
-- Arguments:
--   id  text 48  stream id
-- Replies: ok | missing | replay
local recommended = require('lookup/recommended')

local function verb(turn, a)
    --- arguments
    return recommended.remove(turn, id) and 'ok' or 'missing'
end

return {unrecommend = verb}
