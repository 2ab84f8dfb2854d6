-- counters: the hash `meta` holds the shard's: lease (last lease id), depth (Open queries), vt (virtual time of the
-- fair order). Read once a turn, written once when changed.
local call, format, max = redis.call, string.format, math.max

-- {lease, depth, vt, is_dirty}: set is_dirty when you change one.
local function load(turn)
    local meta = turn.meta
    if meta then return meta end
    local got = call('HMGET', turn.prefix .. 'meta', 'lease', 'depth', 'vt')
    meta = {lease = tonumber(got[1]) or 0, depth = tonumber(got[2]) or 0, vt = tonumber(got[3]) or 0, is_dirty = false}
    turn.meta = meta
    return meta
end

-- The next fencing id: rises forever, one per claim.
local function next_lease(turn)
    local meta = load(turn)
    meta.lease, meta.is_dirty = meta.lease + 1, true
    return format('%d', meta.lease)
end

local function flush(turn)
    local meta = turn.meta
    if not meta or not meta.is_dirty then return end
    call('HSET', turn.prefix .. 'meta', 'lease', format('%d', meta.lease), 'depth', format('%d', max(meta.depth, 0)),
         'vt', format('%.6f', meta.vt))
end

return {load = load, next_lease = next_lease, flush = flush}
