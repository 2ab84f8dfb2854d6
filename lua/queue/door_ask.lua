-- door_ask: queues a client's request of a door (`/v1`), the one query of a new topic, and registers this node as
-- waiting for its outcome; or takes over the query of an equal request whose client has gone (queue/doors.lua). The
-- topic is in no list of topics. It is deleted some time after its client has left (door_leave), or when its time limit
-- passes, since a node that died never leaves.
-- KEYS: t:<topic>, again:<digest> set, asks zset, models_seen, idle; as add.
-- Wakes: one parked poll, by hand-over.
-- Bound: one query; AGAIN_MAX equal ones; SWEEP_BY_ASK others.
-- Lane: add.  Home: topic.  Nonce: yes.  Full: refused.  Durable: yes.
-- Repeatable: yes, with the same topic and asker.
-- Arguments:
--   topic        name      a new one, on the shard of the digest
--   asker        name      of this request, unique
--   digest       name      of what makes requests equal
--   user         name
--   account      name
--   model        name      "<api>/<model>"
--   weight       text 24
--   max_waiting  number    queries that the user may have Open
--   tail         text 64k  lines 3 to 7 of a row
--   request      json 9m   the body, a string
--   grant        name?     the id with which it was counted against the account's budgets (budget_take)
--   other        name?     the model for another Api: if an engine is there for it, nothing is queued
-- Replies: ok/topic/seq | attached/topic/seq/asker that made it/done or runs | other | no_model (no engine has named it
--   within the last hour) | no_engine | full/depth/eta | waiting/depth/eta/user, account, models (of the account) or
--   topic | replay
local asks = require('queue/asks')
local doors = require('queue/doors')
local enqueue = require('queue/enqueue')
local call = redis.call

local SWEEP_BY_ASK = 2

local function verb(turn, a)
    --- arguments
    local key = turn.prefix .. 't:' .. topic
    asks.sweep_due(turn, SWEEP_BY_ASK)
    local reply = doors.take_over(turn, digest, asker, account, false, grant)
    if reply then return reply end
    if call('EXISTS', key) == 1 then return 'ok\n' .. topic .. '\n1' end
    local row = enqueue.row_of(turn, account, user, model, weight, tail)
    local refusal = doors.refusal_of(turn, model, other)
        or enqueue.put(turn, key, topic, '1', nil, user, account, model, weight, max_waiting, row, request, 'w:1',
                       turn.node, 'r:1', request, 'x:1', doors.watcher(turn.node, asker, asker))
    if refusal then return refusal end
    doors.note(turn, digest, topic, '1', false, grant)
    return 'ok\n' .. topic .. '\n1'
end

return {door_ask = verb}
