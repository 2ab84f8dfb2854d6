-- ask_leave: a request stops waiting for its question. When the last one leaves, the topic is deleted: its query leaves
--   the queue, and an engine's answer finds nothing. If the question has not ended and keep_ms is set, the topic is
--   kept that long, so that a client that asks again finds it.
-- KEYS: t:<topic>, asked:<digest>, asks; as delete.
-- Wakes: nodes that wait for a topic that goes.
-- Bound: one topic, of one query.
-- Lane: first.  Home: digest.  Nonce: no.  Full: runs.
-- Repeatable: no, it leaves once more.
-- Arguments:
--   topic    name
--   keep_ms  number
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
    if keep_ms > 0 and (not first or first == 80) then
        call('ZADD', P .. 'asks', format('%d', turn.now_ms + keep_ms), topic)
    else
        asks.drop_ask(turn, topic)
    end
    return 'ok'
end

return {ask_leave = verb}
