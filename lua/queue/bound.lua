-- bound: with several shards, binds an idempotency key to one body. `bound:key:<account>:<key>` is
--   "<n> <digest of the body>": n requests were admitted and not refused since.
local call = redis.call
local format, match = string.format, string.match

local function read(key)
    local n, digest = match(call('GET', key) or '', '^(%d+) (.+)$')
    return tonumber(n), digest
end

local function key_of(turn, name)
    return turn.prefix .. 'bound:key:' .. name
end

-- One request more with that body. Returns whether the key (`name`: "<account>:<key>") may be used for it.
local function bind(turn, name, digest, ms)
    local key = key_of(turn, name)
    if call('SET', key, '1 ' .. digest, 'NX', 'PX', ms) then return true end
    local n, has = read(key)
    if has ~= digest then return false end
    call('SET', key, format('%d', n + 1) .. ' ' .. digest, 'KEEPTTL')
    return true
end

-- One that was let through was refused.
local function unbind(turn, name, digest)
    local key = key_of(turn, name)
    local n, has = read(key)
    if has ~= digest then return end
    if n > 1 then
        call('SET', key, format('%d', n - 1) .. ' ' .. digest, 'KEEPTTL')
    else
        call('DEL', key)
    end
end

return {bind = bind, unbind = unbind}
