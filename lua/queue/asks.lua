-- asks: the lifecycle of topics with Parley's own questions (queue/ask.lua).
local drop = require('topic/drop')
local bounds = require('turn/bounds')
local call = redis.call
local format = string.format

local COMMANDS = 10           -- to drop one
local ASK_MAX_MS = 1800000    -- no request waits longer

-- A question's topic goes, for all who may wait for it still.
local function drop_ask(turn, topic)
    local P = turn.prefix
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

-- Counts one more request that waits for that topic.
local function hold(turn, topic)
    local P = turn.prefix
    call('HINCRBY', P .. 't:' .. topic, 'asks', 1)
    call('ZADD', P .. 'asks', format('%d', turn.now_ms + ASK_MAX_MS), topic)
end

return {ASK_MAX_MS = ASK_MAX_MS, drop_ask = drop_ask, sweep_due = sweep_due, hold = hold}
