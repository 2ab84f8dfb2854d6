-- bind_key: with several shards, binds an idempotency key to one body. The topic's shard has the answer, as with one
--   shard (queue/add.lua); this verb prevents the use of the key for another topic, which may be on another shard.
--   After a restore the answer may be here, because the record of a key does not name the topic.
-- KEYS: bound:key:<account>:<key> string with TTL, idem:<account>:<key>.
-- Wakes: nobody.
-- Bound: one key.
-- Lane: first.  Home: key.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   key     text 1k  "<account>:<key>"
--   digest  name     of the body, which names the topic (hex)
-- Replies: ok | again/seq/ms | mismatch
local bound = require('queue/bound')
local resent = require('queue/resent')

local IDEMPOTENCY_MS = 86400000

local function verb(turn, a)
    --- arguments
    local reply = resent.answer_to_key(turn, key, digest)
    if reply then return reply end
    return bound.bind(turn, key, digest, IDEMPOTENCY_MS) and 'ok' or 'mismatch'
end

return {bind_key = verb}
