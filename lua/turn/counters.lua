-- counters: the shard's counters in the hash `meta`: lease (last lease id), depth (Open queries), vt (virtual time of
-- the fair order). Read once a turn, written once when changed. With them it is read whether nodes wait for room in the
-- queue (queue/shares.lua).
local call, format, match, max = redis.call, string.format, string.match, math.max

-- {lease, depth, vt, depth_text, vt_text, is_dirty, vacancy}: set is_dirty when you change one. The texts are as they
-- are stored (depth_text nil: depth has changed): to write a double out costs more than most commands do.
local function load(turn)
    local meta = turn.meta
    if meta then return meta end
    local got = call('HMGET', turn.prefix .. 'meta', 'lease', 'depth', 'vt', 'vacancy')
    local lease, depth, vt = got[1] or '0', got[2] or '0', got[3] or '0.000000'
    meta = {
        lease = tonumber(lease), depth = tonumber(depth), vt = tonumber(vt), depth_text = depth, vt_text = vt,
        is_dirty = false, vacancy = got[4],
    }
    turn.meta = meta
    return meta
end

-- The next fencing id: rises forever, one per claim. Of n shards, shard i gives the ids with i left over by n, so that
-- no engine holds two claims with the same id. A shard's number begins its hash tag (shared/redis/shard_map.c).
local function next_lease(turn)
    local meta = load(turn)
    local lease = meta.lease + 1
    if turn.is_sharded then
        lease = lease + (tonumber(match(turn.prefix, '^[^{]*{(%d+)')) - lease) % turn.settings.shard_n
    end
    meta.lease, meta.is_dirty = lease, true
    return format('%d', lease)
end

-- `delta` more Open queries, or less.
local function change_depth(turn, delta)
    local meta = turn.meta or load(turn)
    meta.depth, meta.depth_text, meta.is_dirty = meta.depth + delta, nil, true
end

local function depth_text(turn)
    local meta = turn.meta or load(turn)
    local text = meta.depth_text or format('%d', max(meta.depth, 0))
    meta.depth_text = text
    return text
end

local function set_vt(meta, vt)
    meta.vt, meta.vt_text, meta.is_dirty = vt, format('%.6f', vt), true
end

local function flush(turn)
    local meta = turn.meta
    if not meta or not meta.is_dirty then return end
    call('HSET', turn.prefix .. 'meta', 'lease', format('%d', meta.lease), 'depth', depth_text(turn),
         'vt', meta.vt_text)
end

return {
    load = load, next_lease = next_lease, change_depth = change_depth, depth_text = depth_text, set_vt = set_vt,
    flush = flush,
}
