-- ask: puts a question that Parley asks itself (for /ask, an agent, a rewriting) into the queue, in a topic of
-- its own, and writes this node down as waiting for its answer. Identical questions in flight, by their
-- digest, share one query: whoever comes later joins it.
-- Such a topic is nobody's: no user lists it, and retention does not know it. It goes with the last request
-- that waits for it (ask_leave), or when its time is over: a node that died has not left.
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
-- Replies: ok/topic (made) | joined/topic | done/topic/outcome as text | no_engine[/seconds until the first one has
--   rested] | full/depth/eta | waiting/depth/eta. After the topic of the first two a line `maybe`: no engine is there
--   now, but one was lately and did not say that it leaves: ask again with `engines` a moment later
local ASK_MAX_MS = 1800000    -- no request waits longer
local ENGINE_SEEN_MS = 600000  -- since its poll began, which may be parked or have brought a long claim since
local REST_SHORT_MS = 15000     -- a question outlasts such a rest
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

-- Is an engine there? '': one polls, is at work, or rests only for a moment. 'maybe': one was seen lately, and may
-- be between two polls. nil: none; and the seconds until the first one has rested, if any does.
local function engines_there()
    for i = 1, #idle do
        if idle[i].credits > 0 then return '' end
    end
    if #lease_new > 0 or call('EXISTS', P .. 'idle', P .. 'leases') > 0 then return '' end
    local found, first
    for _, info in ipairs(call('HVALS', P .. 'engines')) do
        local rests_until = tonumber(match(info, '^%d+ {"RestingUntilMs":(%d+)'))
        local seen = rests_until or tonumber(match(info, '^%d+'))
        if seen > now_ms + REST_SHORT_MS then
            first = min(first or seen, seen)
        elseif seen > now_ms then
            return ''
        elseif seen > now_ms - ENGINE_SEEN_MS then
            found = 'maybe'
        end
    end
    return found, first and ceil((first - now_ms) / 1000)
end

local function no_engine(seconds)
    return seconds and 'no_engine\n' .. format('%d', seconds) or 'no_engine'
end

local function with_doubt(reply, there)
    return there == '' and reply or reply .. '\n' .. there
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
    local there, seconds = engines_there()
    if not there then return no_engine(seconds) end
    hold_ask(topic)
    wait_for(topic, 1, got[4])
    return with_doubt('joined\n' .. topic, there)
end

verbs.ask = function(a)
    --- arguments
    sweep_due_asks(SWEEP_BY_ASK)
    if call('EXISTS', P .. 't:' .. topic) == 1 then return 'ok\n' .. topic end
    local same = digest ~= '' and call('GET', P .. 'asked:' .. digest)
    local reply = same and join_ask(same)
    if reply then return reply end
    local there, seconds = engines_there()
    if not there then return no_engine(seconds) end
    local seq, refusal = store_query(topic, nil, nil, user, account, model, weight, max_waiting or HUGE, tail,
                                     'w:1', node, 'digest', digest)
    if not seq then return refusal end
    hold_ask(topic)
    if digest ~= '' then call('SET', P .. 'asked:' .. digest, topic) end
    return with_doubt('ok\n' .. topic, there)
end
