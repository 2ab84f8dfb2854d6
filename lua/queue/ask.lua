-- ask: queues a question from Parley itself (for /ask, an agent, or query rewriting) in a new topic and registers
-- this node as waiting for the answer. Identical questions in flight, by digest, share one query.
-- No user owns the topic: it appears in no list, and retention ignores it. It is deleted when the last request
-- that waits for it leaves (ask_leave), or when its time limit passes, since a node that died never leaves.
-- KEYS: t:<topic>, asked:<digest> string (topic), asks zset (topic -> drop when, ms), engines, leases, idle; as add.
-- Wakes: one parked poll, by hand-over.
-- Bound: one query; SWEEP_BY_ASK others; ENGINES_MAX engines looked at.
-- Lane: add.  Home: digest.  Nonce: no.  Full: refused.
-- Repeatable: yes, with the same topic; one that joined is counted again then, so that topic stays until its time is
--   over.
-- Arguments:
--   digest       name?    of the question; without one it is not shared
--   topic        name     a new one
--   user         name
--   account      name
--   model        name
--   weight       text 24
--   tail         text 4m  lines 3 to 7 of a row
--   max_waiting  number?  no limit without
--   max_of_all   number?  of an account that many clients share: its Open queries; no limit without
--   grant        name?    the id with which it was counted against the account's budgets (budget_take)
-- Replies: ok/topic (made) | joined/topic | done/topic/outcome as text | no_engine[/seconds until the first one has
--   rested] | full/depth/eta | waiting/depth/eta. After the topic of the first two a line `maybe`: no engine is there
--   now, but one was recently and did not say that it leaves: ask again with `engines` a moment later; or a line
--   `unseen`, of several shards: this one knows of none, ask all with `engines` now
local asks = require('queue/asks')
local doors = require('queue/doors')
local enqueue = require('queue/enqueue')
local outcomes = require('queue/outcomes')
local presence = require('queue/presence')
local rate = require('queue/rate')
local shares = require('queue/shares')
local waiters = require('queue/waiters')
local bounds = require('turn/bounds')
local call = redis.call
local byte, format = string.byte, string.format

local HUGE = 1e15             -- a limit that none reaches
local SWEEP_BY_ASK = 2        -- more than an ask leaves behind, so they do not pile up

local function with_doubt(reply, there)
    return there == '' and reply or reply .. '\n' .. (there or 'unseen')
end

-- Joins the same question, unless it has come to nothing.
local function join(turn, topic)
    local got = call('HMGET', turn.prefix .. 't:' .. topic, 's:1', 'q:1', 'a:1', 'w:1')
    local first = got[1] and byte(got[1])
    bounds.note_read(turn, 0, #(got[2] or ''))
    if not got[2] or first == 70 or first == 67 then return nil end
    if first == 68 then
        asks.hold(turn, topic)
        return outcomes.as_text(got[2], got[1], got[3], 'done\n' .. topic .. '\n')
    end
    local there, seconds = presence.engines_there(turn)
    if not there and not turn.is_sharded then return presence.no_engine(seconds) end
    asks.hold(turn, topic)
    waiters.add(turn, topic, 1, got[4])
    return with_doubt('joined\n' .. topic, there)
end

-- The places of clients that share an account. One may have as many as are free, so there is always room for another.
local function refusal_of_crowd(turn, account, user, most)
    local all = shares.open_of_account(turn, account)
    if shares.open_count(turn, account, user) < most - all then return nil end
    return 'waiting\n' .. format('%d', all) .. '\n' .. rate.eta_seconds(turn, all)
end

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    asks.sweep_due(turn, SWEEP_BY_ASK)
    if call('EXISTS', P .. 't:' .. topic) == 1 then return 'ok\n' .. topic end
    local same = digest ~= '' and call('GET', P .. 'asked:' .. digest)
    local reply = same and join(turn, same)
    if reply then return reply end
    local there, seconds = presence.engines_there(turn)
    if not there and not turn.is_sharded then return presence.no_engine(seconds) end
    local refusal = max_of_all and refusal_of_crowd(turn, account, user, max_of_all)
    if refusal then return refusal end
    local row = enqueue.row_of(turn, account, user, model, weight, tail)
    refusal = enqueue.put(turn, P .. 't:' .. topic, topic, '1', nil, user, account, model, weight,
                          max_waiting or HUGE, row, nil, 'w:1', turn.node, 'digest', digest)
    if refusal then return refusal end
    doors.set_grant(turn, topic, '1', grant)
    asks.hold(turn, topic)
    if digest ~= '' then call('SET', P .. 'asked:' .. digest, topic) end
    return with_doubt('ok\n' .. topic, there)
end

return {ask = verb}
