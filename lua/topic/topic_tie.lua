-- topic_tie: checks whether a topic exists and the user has a tie to it, for verbs on other shards.
-- KEYS: t:<topic> hash.
-- Wakes: nobody.
-- Bound: one topic.
-- Lane: read.  Home: topic.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic   name
--   viewer  name?  must have a tie to it
-- Replies: ok | missing | replay
local records = require('queue/records')

local function verb(turn, a)
    --- arguments
    return records.has_tie(turn, topic, viewer) and 'ok' or 'missing'
end

return {topic_tie = verb}
