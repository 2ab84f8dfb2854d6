-- asks: the lifecycle of topics with Parley's own questions (queue/ask.lua), and of queries of the doors
-- (queue/doors.lua). The zset `asks` has the topics; of a query in a topic that is kept "<topic> <seq>".
local outcomes = require('queue/outcomes')
local drop = require('topic/drop')
local bounds = require('turn/bounds')
local call = redis.call
local byte, format, match = string.byte, string.format, string.match

local COMMANDS = 11           -- to drop one
local ASK_MAX_MS = 1800000    -- no request waits longer

local GONE = '"Its client has gone."'

-- A member of `asks`: its topic, its Seq, and whether the topic is kept.
local function parse(member)
    local topic, seq = match(member, '^(%S+) (%d+)$')
    return topic or member, seq or '1', topic ~= nil
end

-- A query stays in its topic. If it has not ended, it is cancelled.
local function end_kept(turn, topic, seq, member)
    local key = turn.prefix .. 't:' .. topic
    local got = call('HMGET', key, 'seq', 's:' .. seq)
    local first = got[2] and byte(got[2])
    if got[1] and (not first or first == 80) then outcomes.end_query(turn, topic, seq, 'C', GONE) end
    call('HDEL', key, 'x:' .. seq)
    call('ZREM', turn.prefix .. 'asks', member)
end

-- A question's topic goes, for all who may wait for it still.
local function drop_ask(turn, member)
    local P = turn.prefix
    local topic, seq, is_kept = parse(member)
    if is_kept then return end_kept(turn, topic, seq, member) end
    local digest = call('HGET', P .. 't:' .. topic, 'digest')
    if digest and digest ~= '' and call('GET', P .. 'asked:' .. digest) == topic then
        call('DEL', P .. 'asked:' .. digest)
    end
    bounds.note_read(turn, COMMANDS, 0)
    drop.drop_topic(turn, topic)
    call('ZREM', P .. 'asks', topic)
end

local function sweep_due(turn, n)
    local due = call('ZRANGEBYSCORE', turn.prefix .. 'asks', '-inf', turn.now_text, 'LIMIT', 0, n)
    for i = 1, #due do drop_ask(turn, due[i]) end
    return #due
end

-- It is due so many ms from now.
local function hold_until(turn, member, ms)
    call('ZADD', turn.prefix .. 'asks', format('%d', turn.now_ms + ms), member)
end

-- Counts one more request that waits for that topic.
local function hold(turn, topic)
    call('HINCRBY', turn.prefix .. 't:' .. topic, 'asks', 1)
    hold_until(turn, topic, ASK_MAX_MS)
end

return {
    ASK_MAX_MS = ASK_MAX_MS, parse = parse, drop_ask = drop_ask, sweep_due = sweep_due, hold = hold,
    hold_until = hold_until,
}
