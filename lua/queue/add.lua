-- add: stores one query in its topic and makes it claimable.
-- Guarantees: Seq counts 1, 2, 3 in a topic; the same Idempotency-Key stores nothing twice; a full
--   queue (TOPIC_OPEN_MAX Open queries of a topic, MODELS_MAX models waited for, max_waiting of a user, an
--   account's share, queue_max in all) stores nothing. With an engine parked somewhere the query is handed over
--   at once and never enters the queue.
-- KEYS: t:<topic> hash, topics:<user> zset (topic -> created ms), users set, idem:<account>:<key> string with TTL;
--   queue/shares.lua, queue/fair.lua, queue/idle.lua, meta.
-- Wakes: one parked poll, by hand-over.
-- Bound: one query, and the `open` field of its topic (TOPIC_OPEN_BYTES).
-- Lane: add.  Home: topic.  Nonce: yes.  Full: refused.
-- Repeatable: with an idempotency key.
-- Arguments:
--   topic        name     made if it does not exist
--   user         name
--   account      name
--   model        name
--   weight       text 24  of the account, in the fair order
--   max_waiting  number   queries that the user may have Open
--   tail         text 2m  lines 3 to 7 of a row
--   key          name?    the idempotency key
--   digest       name?    of the body (hex); with a key only
--   is_own       flag     the user must have a part in the topic, if it exists
-- Replies: ok/seq/ms | replay | missing | mismatch | waiting/depth/eta | full/depth/eta
local records = require('queue/records')
local store = require('queue/store')
local call = redis.call
local match = string.match

local IDEMPOTENCY_S = 86400
local TITLE_FROM = 1024  -- bytes of a first row from which its topic gets a title: lists read that instead

local function verb(turn, a)
    --- arguments
    local P, now_text = turn.prefix, turn.now_text
    local idem_key
    if key ~= '' then
        idem_key = P .. 'idem:' .. account .. ':' .. key
        local earlier = call('GET', idem_key)
        if earlier then
            local with, answer = match(earlier, '^(%x+) (.*)$')
            if with ~= digest then return 'mismatch' end
            return answer
        end
    end
    local got = call('HMGET', P .. 't:' .. topic, 'seq', 'u:' .. user, 'open')
    if is_own and got[1] and not got[2] then return 'missing' end
    local seq, refusal
    if not got[1] and #tail > TITLE_FROM then
        seq, refusal = store.put(turn, topic, nil, nil, user, account, model, weight, max_waiting, tail,
                                 'u:' .. user, '1', 'title', records.title_of(records.after_lines(tail, 4)))
    else
        seq, refusal = store.put(turn, topic, got[1], got[3], user, account, model, weight, max_waiting, tail,
                                 'u:' .. user, '1')
    end
    if not seq then return refusal end
    if not got[2] then
        local noted = turn.users_noted or {}
        if call('ZADD', P .. 'topics:' .. user, now_text, topic) == 1 and not noted[user] then
            noted[user], turn.users_noted = true, noted
            call('SADD', P .. 'users', user)
        end
    end
    local answer = 'ok\n' .. seq .. '\n' .. now_text
    if idem_key then call('SET', idem_key, digest .. ' ' .. answer, 'EX', IDEMPOTENCY_S) end
    return answer
end

return {add = verb}
