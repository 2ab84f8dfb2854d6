-- topic_part: checks whether a topic exists and the user has a part in it, for verbs on other shards.
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
