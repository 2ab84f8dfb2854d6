-- bots_look: is there anything on this shard for delivery_take or evaluation_take? Nodes ask with turns that are sent
-- anyway, so that idle nodes cost Redis no call of their own.
-- KEYS: dlv_due, dlv_done, rooms_empty, rooms_going, evaluation_due, evaluations_done.
-- Wakes: nobody.
-- Bound: one.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments: none.
-- Replies: none | deliveries | evaluations | both
local deliveries = require('bots/deliveries')
local evaluations = require('bots/evaluations')
local instants = require('turn/instants')
local removal = require('bots/room_removal')
local rooms = require('bots/rooms')
local call = redis.call
local format = string.format

local function has_until(turn, name, ms)
    return #call('ZRANGEBYSCORE', turn.prefix .. name, '-inf', format('%d', ms), 'LIMIT', 0, 1) > 0
end

local function verb(turn, _)
    local P, now = turn.prefix, turn.now_ms
    instants.pull_in(turn, P .. 'dlv_due', deliveries.ANSWER_MS)
    instants.pull_in(turn, P .. 'evaluation_due', evaluations.LONGEST_MS)
    local d = has_until(turn, 'dlv_due', now) or has_until(turn, 'dlv_done', now - deliveries.KEPT_MS)
        or has_until(turn, 'rooms_empty', now - rooms.EMPTY_MS)
        or has_until(turn, 'rooms_going', now - removal.STOPPED_MS)
    local e = has_until(turn, 'evaluation_due', now) or has_until(turn, 'evaluations_done', now - evaluations.KEPT_MS)
    if d and e then return 'both' end
    return d and 'deliveries' or e and 'evaluations' or 'none'
end

return {bots_look = verb}
