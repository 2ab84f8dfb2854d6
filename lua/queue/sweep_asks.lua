-- sweep_asks: deletes questions that nobody waits for any more: those that were kept for a while, and those of dead
--   nodes, which would otherwise occupy places of public questions until their time limit. And responses whose time is
--   over (queue/responses.lua).
-- KEYS: asks zset, responses zset, nodes zset; as delete.
-- Wakes: nodes that wait for them.
-- Bound: twice SWEEP_MAX topics, of one query each; RESPONSES responses.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments: none.
-- Replies: how many went, twice SWEEP_MAX at most
local asks = require('queue/asks')
local responses = require('queue/responses')
local bounds = require('turn/bounds')
local instants = require('turn/instants')
local call = redis.call
local format, gmatch, match = string.format, string.gmatch, string.match
local ASK_MAX_MS = asks.ASK_MAX_MS

local SWEEP_MAX, RESPONSES = 500, 20
local ORPHAN_MS = 60000 -- a node has said by then that it is there, and stays in `nodes` for as long

local function has_node(turn, waiting)
    for id in gmatch(waiting, '%S+') do
        if id == turn.node or call('ZSCORE', turn.prefix .. 'nodes', id) then return true end
    end
    return false
end

-- Has the node died that waits for it? One whose client has gone is due at its own time.
local function is_orphan(turn, member)
    local topic, seq = asks.parse(member)
    local got = call('HMGET', turn.prefix .. 't:' .. topic, 'w:' .. seq, 'x:' .. seq)
    local waiting = got[2] and match(got[2], '^%S+') or got[1]
    return waiting and waiting ~= '' and waiting ~= '-' and not has_node(turn, waiting)
end

-- Drops questions that are under way, but whose nodes are all gone. Those asked longest ago are looked at.
local function sweep_orphans(turn)
    local P = turn.prefix
    local n, before = 0, format('%d', turn.now_ms + ASK_MAX_MS - ORPHAN_MS)
    for _, member in ipairs(call('ZRANGEBYSCORE', P .. 'asks', '(' .. turn.now_text, before, 'LIMIT', 0, SWEEP_MAX)) do
        bounds.note_read(turn, 3, 0)
        if is_orphan(turn, member) then
            asks.drop_ask(turn, member)
            n = n + 1
        end
    end
    return n
end

local function verb(turn, a)
    instants.pull_in(turn, turn.prefix .. 'asks', ASK_MAX_MS)
    responses.sweep_due(turn, RESPONSES)
    return format('%d', asks.sweep_due(turn, SWEEP_MAX) + sweep_orphans(turn))
end

return {sweep_asks = verb}
