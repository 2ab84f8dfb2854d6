-- add: stores one query in its topic and makes it claimable.
-- Guarantees: Seq counts 1, 2, 3 in a topic; the same Idempotency-Key stores nothing twice, and neither does the same
--   nonce with the same body within ten minutes (queue/resent.lua); a full queue (TOPIC_OPEN_MAX Open queries of a
--   topic, MODELS_MAX models waited for, max_waiting of a user, an account's share, queue_max in total) stores nothing,
--   and neither does a query that exceeds the storage limit of the account or its user (queue/stored.lua). If an engine
--   is parked, the query is handed over immediately and never enters the queue.
-- KEYS: t:<topic> hash, topics:<user> zset (topic -> created ms), users set, idem:<account>:<key> string with TTL;
--   left:<digest> string with TTL (queue/resent.lua), stored hash, queue/shares.lua,
--   queue/fair.lua, queue/idle.lua, meta.
-- Wakes: one parked poll, by hand-over.
-- Bound: one query, and the `open` field of its topic (TOPIC_OPEN_BYTES).
-- Lane: add.  Home: topic.  Nonce: again.  Full: refused.  Durable: yes.
-- Repeatable: with an idempotency key, or with its nonce and mark.
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
--   is_own       flag     the user must have a tie to the topic, if it exists
--   mark         name?    of account, nonce and body (12 hex digits); of a signed request only. With a `+` its nonce
--                         was used before, on the shard of that
--   is_waiting   flag     this node waits for its outcome
--   max_stored   number?  bytes that the account may have on this shard; without: its bytes are not counted
--   max_stored_per_user  number?  of them each of its users; no limit without
--   replaces     text? 20  Seq of an earlier query of the user in the topic, whose place it takes (queue/places.lua)
-- Replies: ok/seq/ms | again/seq/ms (it was there already; nobody is registered) | replay | missing | mismatch
--   | waiting/depth/eta/user, account, models (of the account) or topic (whose room it is) | full/depth/eta
--   | stored/bytes/limit/account or user | unplaced (no query of the user's has the Seq `replaces`)
local enqueue = require('queue/enqueue')
local places = require('queue/places')
local records = require('queue/records')
local resent = require('queue/resent')
local stored = require('queue/stored')
local users = require('topic/users')
local order = require('turn/order')
local call = redis.call
local match = string.match

local IDEMPOTENCY_S = 86400
local TITLE_FROM = 1024  -- bytes of a first row from which its topic gets a title: lists read that instead

-- A used nonce: its own add sent again, or a replay.
local function answer_again(turn, key, tie, mark)
    local seq = mark ~= '' and resent.seq_of(turn, tie, mark)
    local row = seq and call('HGET', key, 'q:' .. seq)
    return row and 'again\n' .. seq .. '\n' .. match(row, '^%d+') or 'replay'
end

-- Returns, with several shards, the answer to a signed add that has run before, or may have; nil for one that is to
-- run.
local function answer_if_run(turn, topic, key, user, tie, mark, came_before)
    local has_run = resent.seq_of(turn, tie, mark) ~= nil
    if not has_run and not (came_before and resent.may_have_run(turn, topic, user, tie, mark)) then return nil end
    return answer_again(turn, key, tie, mark)
end

local function verb(turn, a)
    --- arguments
    local P, now_text = turn.prefix, turn.now_text
    local topic_key, tie_field = P .. 't:' .. topic, 'u:' .. user
    local got = call('HMGET', topic_key, 'seq', tie_field, 'open', 'stored')
    local last, tie = got[1], got[2]
    if is_replay then return answer_again(turn, topic_key, tie, mark) end
    if turn.is_sharded and mark ~= '' then
        local came_before
        mark, came_before = resent.parse_mark(mark)
        local reply = answer_if_run(turn, topic, topic_key, user, tie, mark, came_before)
        if reply then return reply end
    end
    local idem = key ~= '' and account .. ':' .. key
    if idem then
        local reply, of = resent.answer_to_key(turn, idem, digest)
        if reply and tie and mark ~= '' and reply ~= 'mismatch' then
            call('HSET', topic_key, tie_field, resent.with_mark(turn, tie, mark, of))
        end
        if reply then return reply end
    end
    if is_own and last and not tie then return 'missing' end
    local place = replaces ~= '' and places.place_of(turn, topic_key, user, replaces)
    if replaces ~= '' and not place then return 'unplaced' end
    local seq = enqueue.next_seq(last)
    local new_tie = mark == '' and (tie or '1') or resent.with_mark(turn, tie, mark, seq)
    local row = enqueue.row_of(turn, account, user, model, weight, tail)
    local counted, refusal
    if max_stored or got[4] then -- what is counted stays counted
        counted, refusal = stored.move(turn, topic_key, got[4], account, user, #row, max_stored, max_stored_per_user)
        if refusal then return refusal end
    end
    local has_title = not last and #tail > TITLE_FROM
    local is_plain = not has_title and not is_waiting and not place -- the usual call, without a list to unpack
    if is_plain and counted then
        refusal = enqueue.put(turn, topic_key, topic, seq, got[3], user, account, model, weight, max_waiting, row, nil,
                            tie_field, new_tie, 'stored', counted)
    elseif is_plain then
        refusal = enqueue.put(turn, topic_key, topic, seq, got[3], user, account, model, weight, max_waiting, row, nil,
                            tie_field, new_tie)
    else
        local more = {tie_field, new_tie}
        if counted then more[3], more[4] = 'stored', counted end
        if has_title then
            more[#more + 1], more[#more + 2] = 'title', records.title_of(records.after_lines(tail, 4))
        end
        if place then places.put_fields(more, place, seq) end
        if is_waiting then more[#more + 1], more[#more + 2] = 'w:' .. seq, turn.node end
        refusal = enqueue.put(turn, topic_key, topic, seq, got[3], user, account, model, weight, max_waiting, row, nil,
                            unpack(more))
    end
    if refusal then
        if counted then stored.move(turn, topic_key, counted, account, user, -#row) end
        return refusal
    end
    if not tie then
        local mine = P .. 'topics:' .. user
        if call('ZADD', mine, order.next(turn, mine), topic) == 1 then users.note(turn, user) end
    end
    local answer = 'ok\n' .. seq .. '\n' .. now_text
    if idem then call('SET', P .. 'idem:' .. idem, digest .. ' ' .. answer, 'EX', IDEMPOTENCY_S) end
    return answer
end

return {add = verb}
