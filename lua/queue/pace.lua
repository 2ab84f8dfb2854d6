-- pace: how often the nodes of a shard sync (queue/sync.lua). Few nodes sync as often as they are set to. Of many each
-- waits longer: a shard has SYNCS_A_SECOND from all of them together, until a node waits MAX_MS. What any node does for
-- all (leases that have ended, silent nodes, items for other shards) is done as soon as before; queue/rescan.lua finds
-- work that was missed. A model must not fall back (queue/fallback.lua) between two syncs of the only node whose
-- engines name it.
local call = redis.call
local ceil, floor, max, min = math.ceil, math.floor, math.max, math.min

local SYNCS_A_SECOND = 8
local FEW_MS = 1000  -- few nodes are not said to wait for so long: they do
local MAX_MS = 15000 -- half of it more at times (next_sync_ms of timers.c): with that, two fit into nodes.GONE_MS

-- The least time between two syncs of a node here (ms).
local function least_ms(turn)
    local ms = turn.pace_ms
    if not ms then
        local fallback_ms = turn.settings.fallback_ms
        ms = min(MAX_MS, ceil(call('ZCARD', turn.prefix .. 'nodes') * 1000 / SYNCS_A_SECOND))
        if fallback_ms > 0 then ms = min(ms, max(FEW_MS, floor(fallback_ms / 2))) end
        turn.pace_ms = ms
    end
    return ms
end

-- How often nodes sync that are not set to another time.
local function usual_ms(turn)
    return turn.is_sharded and 1000 or 5000
end

return {FEW_MS = FEW_MS, least_ms = least_ms, usual_ms = usual_ms}
