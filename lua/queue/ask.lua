-- ask: puts a question that Parley asks itself (for /ask, an agent, a rewriting) into the queue, in a topic of
-- its own, and writes this node down as waiting for its answer. Identical questions in flight, by their
-- digest, share one query: whoever comes later joins it.
-- Such a topic is nobody's: no user lists it, and retention does not know it. It goes with the last request
-- that waits for it (ask_leave), or when its time is over: a node that died has not left.
-- KEYS: t:<topic>, asked:<digest> string (topic), asks zset (topic -> drop when, ms), engines, leases,
--   idle; as add.
-- ARGV: digest (name; '' when it is not shared), topic (new), user, account, model (names), weight, row tail
--   (lines 3 to 7 of a row), then, if there is a limit, max_waiting.
-- Returns: ok/topic (made) | joined/topic | done/topic/outcome as text | no_engine (none is there, nor was
--   there lately) | full/depth/eta | waiting/depth/eta
-- Wakes: one parked poll, by hand-over.  Repeatable: yes, with the same topic; one that joined is counted
--   again then, so that topic stays until its time is over.
-- Bound: one query; SWEEP_BY_ASK others; ENGINES_MAX engines looked at.
local ASK_MAX_MS = 1800000    -- no request waits longer
local ENGINE_SEEN_MS = 120000
local HUGE = 1e15             -- a limit that none reaches
local SWEEP_BY_ASK = 2        -- more than an ask leaves behind, so they do not pile up

-- A question's topic goes, for all who may wait for it still.
local function drop_ask(topic)
    local digest = call('HGET', P .. 't:' .. topic, 'digest')
    if digest and digest ~= '' and call('GET', P .. 'asked:' .. digest) == topic then
        call('DEL', P .. 'asked:' .. digest)
    end
    drop_topic(topic)
    call('ZREM', P .. 'asks', topic)
end

local function sweep_due_asks(n)
    local due = call('ZRANGEBYSCORE', P .. 'asks', '-inf', now_text, 'LIMIT', 0, n)
    for i = 1, #due do drop_ask(due[i]) end
    return #due
end

-- Is an engine there, or was lately? One that polls, one at work, one that a node has seen.
local function is_engine_there()
    for i = 1, #idle do
        if idle[i].credits > 0 then return true end
    end
    if #lease_new > 0 or call('EXISTS', P .. 'idle', P .. 'leases') > 0 then return true end
    for _, info in ipairs(call('HVALS', P .. 'engines')) do
        if tonumber(match(info, '^%d+')) > now_ms - ENGINE_SEEN_MS then return true end
    end
    return false
end

-- Counts one more request that waits for that topic.
local function hold_ask(topic)
    call('HINCRBY', P .. 't:' .. topic, 'asks', 1)
    call('ZADD', P .. 'asks', format('%d', now_ms + ASK_MAX_MS), topic)
end

-- Joins the same question, unless it has come to nothing.
local function join_ask(topic)
    local got = call('HMGET', P .. 't:' .. topic, 's:1', 'q:1', 'a:1', 'w:1')
    local first = got[1] and byte(got[1])
    if not got[2] or first == 70 or first == 67 then return nil end
    if first == 68 then
        hold_ask(topic)
        return outcome_text(got[2], got[1], got[3], 'done\n' .. topic .. '\n')
    end
    if not is_engine_there() then return 'no_engine' end
    hold_ask(topic)
    wait_for(topic, 1, got[4])
    return 'joined\n' .. topic
end

verbs.ask = function(a)
    local digest, topic, user, account, model = args[a], args[a + 1], args[a + 2], args[a + 3], args[a + 4]
    local weight, tail = args[a + 5], args[a + 6]
    local max_waiting = tonumber(args[a - 1]) > 7 and tonumber(args[a + 7]) or HUGE
    sweep_due_asks(SWEEP_BY_ASK)
    if call('EXISTS', P .. 't:' .. topic) == 1 then return 'ok\n' .. topic end
    local same = digest ~= '' and call('GET', P .. 'asked:' .. digest)
    local reply = same and join_ask(same)
    if reply then return reply end
    if not is_engine_there() then return 'no_engine' end
    local seq, refusal = store_query(topic, nil, nil, user, account, model, weight, max_waiting, tail,
                                     'w:1', node, 'digest', digest)
    if not seq then return refusal end
    hold_ask(topic)
    if digest ~= '' then call('SET', P .. 'asked:' .. digest, topic) end
    return 'ok\n' .. topic
end
