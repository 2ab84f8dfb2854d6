-- ask_leave: a request stops waiting for its question. When the last one leaves, the topic is deleted: its query leaves
--   the queue, and an engine's answer finds nothing. It is kept for a while first, so that a client that asks again
--   finds it: keep_ms if the question has not ended, otherwise ended_ms.
-- KEYS: t:<topic>, asked:<digest>, asks; as delete.
-- Wakes: nodes that wait for a topic that goes.
-- Bound: one topic, of one query.
-- Lane: first.  Home: digest.  Nonce: no.  Full: runs.
-- Repeatable: no, it leaves once more.
-- Arguments:
--   topic     name
--   keep_ms   number
--   ended_ms  number?
-- Replies: ok
local asks = require('queue/asks')
local call = redis.call
local byte, format = string.byte, string.format

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local key = P .. 't:' .. topic
    local got = call('HMGET', key, 'asks', 's:1')
    if not got[1] or call('HINCRBY', key, 'asks', -1) > 0 then return 'ok' end
    local first = got[2] and byte(got[2])
    local kept_ms = (not first or first == 80) and keep_ms or ended_ms or 0
    if kept_ms > 0 then
        call('ZADD', P .. 'asks', format('%d', turn.now_ms + kept_ms), topic)
    else
        asks.drop_ask(turn, topic)
    end
    return 'ok'
end

return {ask_leave = verb}
