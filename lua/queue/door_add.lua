-- door_add: queues a client's request of a door (`/v1`) in a topic that is kept, as `add` does: it is listed, counted
-- and deleted like other queries. Registers this node as waiting for its outcome, or takes over the query of an equal
-- request whose client has gone (queue/doors.lua).
-- KEYS: t:<topic>, topics:<user>, users, stored, again:<digest> set, asks zset, responses zset, models_seen, idle; as
--   add.
-- Wakes: one parked poll, by hand-over.
-- Bound: one query, and the `open` field of its topic; AGAIN_MAX equal ones; SWEEP_BY_ASK others.
-- Lane: add.  Home: topic.  Nonce: yes.  Full: refused.  Durable: yes.
-- Repeatable: yes, with the same asker.
-- Arguments:
--   topic        name      made if it does not exist
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
--   metadata     text? 64k  of a chat completion: y:<seq> without its first line (queue/kept.lua); of others none
--   response     bytes? 4m  of a response: the body of its request (queue/responses.lua)
--   request_bytes  number  of `request` as its engine gets it
--   is_background  flag    nobody waits for it: it is not cancelled when its client leaves
--   is_own       flag      the user must have a tie to the topic, if it exists
--   max_stored   number?   bytes that the account may have on this shard; without: its bytes are not counted
--   max_stored_per_user  number?  of them each of its users; no limit without
--   other        name?     the model for another Api: if an engine is there for it, nothing is queued
-- Replies: ok/topic/seq/place of the topic among the user's (microseconds)/created (ms) | attached/topic/seq/asker that
--   made it/done or runs/place/created | missing | other | no_model | no_engine
--   | full/depth/eta | waiting/depth/eta/user, account, models (of the account) or topic
--   | stored/bytes/limit/account or user | replay
local asks = require('queue/asks')
local doors = require('queue/doors')
local enqueue = require('queue/enqueue')
local responses = require('queue/responses')
local stored = require('queue/stored')
local users = require('topic/users')
local order = require('turn/order')
local call = redis.call
local match = string.match

local SWEEP_BY_ASK = 2

-- The score of a topic of that list.
local function place_of(mine, topic)
    local score = call('ZSCORE', mine, topic)
    return score and order.text_of(score) or '0'
end

local function verb(turn, a)
    --- arguments
    local P, key = turn.prefix, turn.prefix .. 't:' .. topic
    asks.sweep_due(turn, SWEEP_BY_ASK)
    local reply = not is_background and doors.take_over(turn, digest, asker, account, true, grant)
    if reply then
        local of, at = match(reply, '^%S+\n(%S+)\n(%d+)')
        local created = match(call('HGET', P .. 't:' .. of, 'q:' .. at), '^%d+')
        return reply .. '\n' .. place_of(P .. 'topics:' .. user, of) .. '\n' .. created
    end
    local got = call('HMGET', key, 'seq', 'u:' .. user, 'open', 'stored')
    local last, tie = got[1], got[2]
    if is_own and last and not tie then return 'missing' end
    local counted, refusal = nil, doors.refusal_of(turn, model, other)
    if refusal then return refusal end
    local seq = enqueue.next_seq(last)
    local row = enqueue.row_of(turn, account, user, model, weight, tail)
    local y = metadata ~= '' and asker .. metadata
    local bytes = #row + #request + #(y or '') + #response
    local watcher = doors.watcher(is_background and '-' or turn.node, asker, asker)
    local more = {'w:' .. seq, turn.node, 'r:' .. seq, request, 'x:' .. seq, watcher, 'u:' .. user, tie or '1'}
    if y then more[#more + 1], more[#more + 2] = 'y:' .. seq, y end
    if max_stored or got[4] then
        counted, refusal = stored.move(turn, key, got[4], account, user, bytes, max_stored, max_stored_per_user)
        if refusal then return refusal end
        more[#more + 1], more[#more + 2] = 'stored', counted
    end
    refusal = enqueue.put(turn, key, topic, seq, got[3], user, account, model, weight, max_waiting, row, request,
                          unpack(more))
    if refusal then
        if counted then stored.move(turn, key, counted, account, user, -bytes) end
        return refusal
    end
    local mine = P .. 'topics:' .. user
    if not tie then
        if call('ZADD', mine, order.next(turn, mine), topic) == 1 then users.note(turn, user) end
    end
    if response ~= '' then
        call('HSET', key, responses.fields_of(turn, topic, seq, asker, response, request_bytes, is_background))
    end
    if is_background then
        doors.set_grant(turn, topic, seq, grant)
    else
        doors.note(turn, digest, topic, seq, true, grant)
    end
    return 'ok\n' .. topic .. '\n' .. seq .. '\n' .. place_of(mine, topic) .. '\n' .. turn.now_text
end

return {door_add = verb}
