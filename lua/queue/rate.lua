-- rate: the rate at which queries are answered, from the counts of the last minutes (stat:<minute>). Both are per
--   shard, so durations need no scaling; a cluster-wide count is the shard's count times the number of shards, because
--   names and engines are spread evenly.
local call = redis.call
local format = string.format
local ceil, floor = math.ceil, math.floor

local STAT_S = 7200

-- Answers a second over the last two minutes; nil while there were none.
local function service_rate(turn)
    local P = turn.prefix
    local minute = floor(turn.now_s / 60)
    local done = (tonumber(call('HGET', P .. 'stat:' .. minute, 'done')) or 0)
        + (tonumber(call('HGET', P .. 'stat:' .. (minute - 1), 'done')) or 0)
    if done == 0 then return nil end
    return done / (60 + turn.now_s % 60)
end

local function eta_seconds(turn, queries_before)
    local rate = service_rate(turn)
    if not rate then return '' end
    return format('%d', ceil((queries_before + 1) / rate))
end

-- As text: what `n` of this shard are in the whole cluster, about.
local function of_cluster(turn, n)
    return format('%d', turn.is_sharded and n * turn.settings.shard_n or n)
end

return {of_cluster = of_cluster, STAT_S = STAT_S, eta_seconds = eta_seconds}
