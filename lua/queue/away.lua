-- away: an engine rests for a while or leaves. Its parked poll ends, so no hand-over finds it, and `engines` records
--   it, so that no question (queue/ask.lua) waits for it.
-- KEYS: poll:<account>:<engine> (`away` until its next poll), engines.
-- Wakes: the node that holds its poll.
-- Bound: one engine; a new one reads all of the hash engines, ENGINES_MAX.
-- Lane: first.  Home: engine.  Nonce: yes.  Full: runs.
-- Repeatable: with a new nonce; its next poll ends the rest.
-- Arguments:
--   account  name
--   engine   name
--   rest_ms  number   0: it leaves
--   info     text 8k  the rest of what operators see of it: `,"…":…}`
-- Replies: ok | replay
local presence = require('queue/presence')
local call = redis.call
local format = string.format
local AWAY = presence.AWAY

-- For so long, what nodes still say of its earlier polls (queue/sync.lua) is older news.
local AWAY_S = 60

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local poll = call('SET', P .. 'poll:' .. account .. ':' .. engine, AWAY, 'GET', 'EX', AWAY_S)
    presence.end_poll(turn, poll, account, engine)
    local name = account .. ' ' .. engine
    if rest_ms == 0 then
        call('HDEL', P .. 'engines', name)
    else
        local rest = format('%d {"RestingUntilMs":%d', turn.now_ms, turn.now_ms + rest_ms)
        if call('HSET', P .. 'engines', name, rest .. info) == 1 then presence.forget_engines(turn) end
    end
    return 'ok'
end

return {away = verb}
