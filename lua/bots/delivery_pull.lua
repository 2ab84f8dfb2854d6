-- delivery_pull: gives a bot that pulls its next delivery, which no other process of it gets for 30 s, five times at
-- most. If there is none, this node is a watcher of that bot for POLL_S from now on. Both happen in one atomic step, so
-- no delivery is missed in between; one that comes back since its 30 s are over causes no event: ask again then.
-- KEYS: dlv_pull:<bot>, dlv:<delivery>, dlv_polls:<bot>.
-- Wakes: nobody.
-- Bound: SCAN_MAX deliveries.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: gives another one.
-- Arguments:
--   bot         name
--   is_waiting  flag  this node has a parked poll of the bot
-- Replies: none/ms until one comes back ('': none will) | ok/delivery/room
local deliveries = require('bots/deliveries')
local instants = require('turn/instants')
local order = require('turn/order')
local call = redis.call
local format = string.format

local SCAN_MAX = 20

-- Takes this node into account when the bot's next delivery comes.
local function park(turn, bot)
    local key = turn.prefix .. 'dlv_polls:' .. bot
    call('ZREMRANGEBYSCORE', key, '-inf', turn.now_text)
    call('ZADD', key, format('%d', turn.now_ms + deliveries.POLL_S * 1000), turn.node)
    call('EXPIRE', key, deliveries.POLL_S)
end

local function verb(turn, a)
    --- arguments
    local key = turn.prefix .. 'dlv_pull:' .. bot
    instants.pull_in(turn, key, deliveries.PULL_MS)
    for _, id in ipairs(call('ZRANGEBYSCORE', key, '-inf', order.score_of(turn.now_us), 'LIMIT', 0, SCAN_MAX)) do
        local d = deliveries.read(turn, id)
        if d and not deliveries.OVER[d.state] and tonumber(d.pulls or 0) < deliveries.PULLS then
            call('HINCRBY', d.key, 'pulls', 1)
            call('ZADD', key, format('%d', turn.now_ms + deliveries.PULL_MS), id)
            return 'ok\n' .. id .. '\n' .. d.room
        end
        call('ZREM', key, id)
    end
    if is_waiting then park(turn, bot) end
    local next_one = call('ZRANGE', key, 0, 0, 'WITHSCORES')
    return 'none\n' .. (next_one[1] and format('%d', math.max(0, next_one[2] - turn.now_ms)) or '')
end

return {delivery_pull = verb}
