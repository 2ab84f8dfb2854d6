-- topic_part: is the topic there, and has the user a part in it? For verbs of other shards, which cannot look.
-- KEYS: t:<topic> hash.
-- Wakes: nobody.
-- Bound: one topic.
-- Lane: read.  Home: topic.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic   name
--   viewer  name?  must have a part in it
-- Replies: ok | missing | replay
local records = require('queue/records')

local function verb(turn, a)
    --- arguments
    return records.has_part(turn, topic, viewer) and 'ok' or 'missing'
end

return {topic_part = verb}
