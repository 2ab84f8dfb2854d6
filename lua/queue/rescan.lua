-- rescan: finds work that was missed while nodes are so many that each syncs seldom (queue/pace.lua): once per usual
-- time of a sync, whichever node syncs, Open queries are offered to the credits that are here, and nodes that have said
-- that they hold polls for them are called to sync now.
local claims = require('queue/claims')
local hints = require('queue/hints')
local pace = require('queue/pace')
local counters = require('turn/counters')
local instants = require('turn/instants')
local call = redis.call
local min = math.min

local CALLED_MAX = 8 -- nodes
local MODELS_MAX = 8 -- of those that queries wait for, in turn

-- Is it time? The hash `clock` has when it was the last time.
local function is_due(turn)
    local key, usual_ms = turn.prefix .. 'clock', pace.usual_ms(turn)
    if pace.least_ms(turn) <= usual_ms or counters.load(turn).depth <= 0 then return false end
    local last = call('HGET', key, 'rescan')
    if last and instants.is_near(turn, last, usual_ms) then return false end
    call('HSET', key, 'rescan', turn.now_text)
    return true
end

local function run(turn)
    if not is_due(turn) then return end
    local models, left = call('SMEMBERS', turn.prefix .. 'models'), CALLED_MAX
    for i = 1, min(#models, MODELS_MAX) do
        local model = models[(turn.now_ms + i) % #models + 1]
        claims.offer(turn, model)
        left = left - hints.call_to_sync(turn, model, left)
    end
end

return {run = run}
