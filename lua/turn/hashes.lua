-- hashes: reads Redis hashes.
local call = redis.call

-- The bytes of some fields of a hash, without reading them.
local function bytes_of(key, ...)
    local bytes = 0
    for _, field in ipairs({...}) do bytes = bytes + call('HSTRLEN', key, field) end
    return bytes
end

-- Some fields of a hash by name; those that are missing are nil.
local function fields(key, ...)
    local names, got, by_name = {...}, call('HMGET', key, ...), {}
    for i = 1, #names do by_name[names[i]] = got[i] or nil end
    return by_name
end

return {bytes_of = bytes_of, fields = fields}
