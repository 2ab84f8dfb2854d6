-- door_ask: queues a client's request of a door (`/v1`), the one query of a new topic, and registers this node as
-- waiting for its outcome. The topic is in no list of topics. It is deleted some time after its client has left
-- (ask_leave), or when its time limit passes, since a node that died never leaves.
-- KEYS: t:<topic>, asks zset, models_seen, idle; as add.
-- Wakes: one parked poll, by hand-over.
-- Bound: one query; SWEEP_BY_ASK others.
-- Lane: add.  Home: topic.  Nonce: yes.  Full: refused.  Durable: yes.
-- Repeatable: yes, with the same topic.
-- Arguments:
--   topic        name      a new one
--   user         name
--   account      name
--   model        name      "<api>/<model>"
--   weight       text 24
--   max_waiting  number    queries that the user may have Open
--   tail         text 64k  lines 3 to 7 of a row
--   request      json 9m   the body, a string
-- Replies: ok | no_model (no engine has named it within the last hour) | no_engine | full/depth/eta
--   | waiting/depth/eta/user, account, models (of the account) or topic | replay
local asks = require('queue/asks')
local enqueue = require('queue/enqueue')
local fallback = require('queue/fallback')
local idle = require('queue/idle')
local call = redis.call

local SWEEP_BY_ASK = 2
local KNOWN_MS, THERE_MS = 3600000, 30000 -- a poll that is parked is stated every few seconds

-- Is an engine for that model there? Those that are parked count before a sync has noted them. With several shards an
-- engine may be at work for another one, and then this shard does not know that it is there.
local function refusal_of(turn, model)
    local seen = fallback.seen_at(turn, model)
    local age = seen and turn.now_ms - seen
    if age and age < THERE_MS then return nil end
    local waiter = idle.take_waiter(turn, idle.QUERIES, model)
    if waiter then
        idle.put_back(waiter)
        return nil
    end
    if not age or age >= KNOWN_MS then return 'no_model' end
    return not turn.is_sharded and 'no_engine' or nil
end

local function verb(turn, a)
    --- arguments
    local key = turn.prefix .. 't:' .. topic
    asks.sweep_due(turn, SWEEP_BY_ASK)
    if call('EXISTS', key) == 1 then return 'ok' end
    local row = enqueue.row_of(turn, account, user, model, weight, tail)
    local refusal = refusal_of(turn, model)
        or enqueue.put(turn, key, topic, '1', nil, user, account, model, weight, max_waiting, row, request, 'w:1',
                       turn.node, 'r:1', request)
    if refusal then return refusal end
    asks.hold(turn, topic)
    return 'ok'
end

return {door_ask = verb}
