-- bots_due: is there anything on this shard for delivery_take or evaluation_take? Nodes ask with turns that are sent
-- anyway, so that idle nodes cost Redis no call of their own.
-- KEYS: turn/due.lua with dlv_due and evaluation_due; dlv_done, rooms_empty, rooms_going, evaluations_done, clock;
--   dlv:<delivery>.
-- Wakes: nobody.
-- Bound: one; 20 turns of turn/due.lua each; once after Redis's clock went back, LATE_MAX rows of each.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   of_evaluations  flag  the node asks for these; otherwise for deliveries
--   wants_age       flag  nodes are many: how long ago the last one asked for the same
-- Replies: none | deliveries | evaluations | both; with wants_age after it how many ms ago, '' if none did
local deliveries = require('bots/deliveries')
local evaluations = require('bots/evaluations')
local removal = require('bots/room_removal')
local rooms = require('bots/rooms')
local due = require('turn/due')
local instants = require('turn/instants')
local leased = require('turn/leased')

local function has_until(turn, name, ms)
    return due.has_until(turn.prefix .. name, ms)
end

local function what_is_due(d, e)
    if d and e then return 'both' end
    return d and 'deliveries' or e and 'evaluations' or 'none'
end

local function verb(turn, a)
    --- arguments
    local now = turn.now_ms
    if instants.has_gone_back(turn, 'bots') then
        leased.end_late(turn, deliveries.KIND)
        leased.end_late(turn, evaluations.KIND)
    end
    instants.pull_in(turn, turn.prefix .. 'rooms_going', 0)
    local d = leased.is_any(turn, deliveries.KIND) or has_until(turn, 'dlv_done', now - deliveries.KEPT_MS)
        or has_until(turn, 'rooms_empty', now - rooms.EMPTY_MS)
        or has_until(turn, 'rooms_going', now - removal.STOPPED_MS)
    local e = leased.is_any(turn, evaluations.KIND)
        or has_until(turn, 'evaluations_done', now - evaluations.KEPT_MS)
    local reply = what_is_due(d, e)
    if not wants_age then return reply end
    local _, age_ms = instants.has_gone_back(turn, of_evaluations and 'evaluations' or 'deliveries')
    return reply .. '\n' .. (age_ms or '')
end

return {bots_due = verb}
