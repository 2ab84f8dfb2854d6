-- enqueue: puts a query into its topic and makes it claimable, or returns why there is no room for it.
local claims = require('queue/claims')
local fair = require('queue/fair')
local fallback = require('queue/fallback')
local held = require('queue/held')
local hints = require('queue/hints')
local idle = require('queue/idle')
local leases = require('queue/leases')
local rate = require('queue/rate')
local open_list = require('queue/open_list')
local records = require('queue/records')
local requests = require('queue/requests')
local shares = require('queue/shares')
local counters = require('turn/counters')
local events = require('turn/events')
local call = redis.call
local format = string.format
local LOOKBACK = held.LOOKBACK

local TOPIC_OPEN_MAX, TOPIC_OPEN_BYTES = 1000, 262144

-- The Seq after `last`, the field `seq` of a topic.
local function next_seq(last)
    return last and format('%d', last + 1) or '1'
end

-- A query's row; `tail`: its lines 3 to 7.
local function row_of(turn, account, user, model, weight, tail)
    return turn.now_text .. '\n' .. account .. ' ' .. user .. ' ' .. model .. ' ' .. weight .. '\n' .. tail
end

-- As many wait as may; of: whose room that is.
local function waiting(turn, n, of)
    return 'waiting\n' .. n .. '\n' .. rate.eta_seconds(turn, n) .. '\n' .. of
end

-- Returns what refuses a query that finds no engine; nil when nothing does.
local function refusal_to_wait(turn, open, user, account, model, max_waiting)
    local depth, mine = (turn.meta or counters.load(turn)).depth, shares.open_count(turn, account, user)
    if mine >= max_waiting then return waiting(turn, mine, 'user') end
    local taken, of = shares.share_taken(turn, account, model, depth)
    if taken then return waiting(turn, taken, of) end
    if open and (#open >= TOPIC_OPEN_BYTES
        or open_list.count(open, #open + 1, TOPIC_OPEN_MAX) == TOPIC_OPEN_MAX) then
        return waiting(turn, TOPIC_OPEN_MAX, 'topic')
    end
    if depth >= shares.room(turn) or not shares.is_room_for(turn, model, depth) then
        return 'full\n' .. rate.of_cluster(turn, depth) .. '\n' .. rate.eta_seconds(turn, depth)
    end
    return nil
end

-- Stores a query as the next one of its topic and makes it claimable. `key` is that of the topic, and the caller
-- has read the fields `seq` (see next_seq) and `open`. `request`: of a query of a door (queue/requests.lua), which is
-- one of the fields as well; nil of others. What follows are more fields of it. Returns nil, or what refuses it.
local function put(turn, key, topic, seq, open, user, account, model, weight, max_waiting, row, request, ...)
    local has_open = open and open ~= ''
    if #seq > 2 and tonumber(seq) > LOOKBACK + 1 then held.list_passed(key, seq) end
    local waiter = not has_open and idle.take_waiter(turn, idle.QUERIES, model)
    if waiter then
        -- '1' as text: to write a number out costs more than most commands do.
        local lease = leases.start(turn, topic)
        call('HSET', key, 'seq', seq, 'q:' .. seq, row, 's:' .. seq,
             records.pending(lease, '1', waiter.account, '1', records.handed_to(turn, waiter)), ...)
        if model ~= 'default' and not idle.names_model(waiter.models, model) then
            call('HSET', key, 'm:' .. seq, lease)
        end
        events.send(turn, waiter.node, {'claim\n' .. waiter.class .. '\n' .. topic .. '\n' .. lease .. '\n1\n1\n' .. seq
            .. '\n', row, request and requests.line_of(request)})
        return nil
    end
    local refusal = refusal_to_wait(turn, has_open and open, user, account, model, max_waiting)
    if refusal then return refusal end
    call('HSET', key, 'seq', seq, 'q:' .. seq, row, 'open',
         (open or '') .. open_list.item(seq, 0, model, user, account, weight), ...)
    shares.count(turn, account, user, model, 1)
    turn.now_us_text = turn.now_us_text or format('%d', turn.now_us)
    fair.enqueue(turn, model, user, topic, turn.now_us_text, false)
    -- One that has fallen at once is for engines that were not asked above.
    if has_open or (model ~= 'default' and fallback.has_fallen(turn, model)) then
        claims.offer(turn, model)
    elseif turn.is_sharded then
        hints.call_for(turn, model, '', 0)
    end
    return nil
end

return {put = put, row_of = row_of, next_seq = next_seq}
