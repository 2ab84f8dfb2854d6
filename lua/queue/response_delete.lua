-- response_delete: deletes a response that is kept (queue/responses.lua) with its question and answer; one that has not
--   ended is cancelled. Responses that continue it keep its texts as parts of their own requests.
-- KEYS: t:<topic>, stored, responses, asks, partials:<topic>:<seq>, lookups:<topic>; as delete and cancel.
-- Wakes: as delete and cancel.
-- Bound: one query; as one step of delete.
-- Lane: slow.  Home: topic.  Nonce: yes.  Full: runs.  Durable: yes.
-- Repeatable: the second time it is missing.
-- Arguments:
--   topic    name
--   seq      digits
--   account  name
--   user     name
--   asker    name
-- Replies: ok | missing | replay
local responses = require('queue/responses')

local function verb(turn, a)
    --- arguments
    local key, got = responses.response_of(turn, topic, seq, account, user, asker)
    if not key then return 'missing' end
    responses.drop(turn, key, topic, seq, user, got)
    return 'ok'
end

return {response_delete = verb}
