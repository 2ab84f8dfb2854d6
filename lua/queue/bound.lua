-- bound: what a name may be used for, of several shards: a nonce of an add-query for one mark, an idempotency key for
-- one body. `bound:<name>` is "<n> <to>": n requests were let through and not refused since.
local call = redis.call
local format, match = string.format, string.match

local function read(turn, name)
    local n, to = match(call('GET', turn.prefix .. 'bound:' .. name) or '', '^(%d+) (.+)$')
    return tonumber(n), to
end

local function is_to(turn, name, to)
    local _, has = read(turn, name)
    return has == to
end

-- One request more for `to`. Returns how many they are now, nil when the name is for something else.
local function bind(turn, name, to, ms)
    local key = turn.prefix .. 'bound:' .. name
    if call('SET', key, '1 ' .. to, 'NX', 'PX', ms) then return 1 end
    local n, has = read(turn, name)
    if has ~= to then return nil end
    call('SET', key, format('%d', n + 1) .. ' ' .. to, 'KEEPTTL')
    return n + 1
end

local function unbind(turn, name, to)
    local key = turn.prefix .. 'bound:' .. name
    local n, has = read(turn, name)
    if has ~= to then return end
    if n > 1 then
        call('SET', key, format('%d', n - 1) .. ' ' .. to, 'KEEPTTL')
    else
        call('DEL', key)
    end
end

return {is_to = is_to, bind = bind, unbind = unbind}
