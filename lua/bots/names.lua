-- names: the hash `room_names` on the cluster's shard: name -> `u` (a user who has posted), `b` (a bot), `p` (a bot
-- that pulls).
local call = redis.call

local NAMES_MAX = 100000 -- users' names of a namespace

local function kind_of(turn, name)
    return call('HGET', turn.prefix .. 'room_names', name) or 'n'
end

-- What refuses that a name is a user's: `taken` or `full`, or nil; and whether it is a user's already.
local function refusal_of(turn, name, namespace)
    local P = turn.prefix
    local kind = call('HGET', P .. 'room_names', name)
    if kind == 'u' then return nil, true end
    if kind then return 'taken' end
    if tonumber(call('HGET', P .. 'names_n', namespace) or 0) >= NAMES_MAX then return 'full' end
    return nil, false
end

-- The name is a user's from now on. Returns what refuses that.
local function claim(turn, name, namespace)
    local P, refusal, is_known = turn.prefix, refusal_of(turn, name, namespace)
    if refusal or is_known then return refusal end
    call('HSET', P .. 'room_names', name, 'u')
    call('HINCRBY', P .. 'names_n', namespace, 1)
    return nil
end

-- The name of a user who was deleted is free again. Of a bot nothing changes.
local function free(turn, name, namespace)
    local P = turn.prefix
    if call('HGET', P .. 'room_names', name) ~= 'u' then return end
    call('HDEL', P .. 'room_names', name)
    if call('HINCRBY', P .. 'names_n', namespace, -1) <= 0 then call('HDEL', P .. 'names_n', namespace) end
end

return {free = free, kind_of = kind_of, claim = claim, refusal_of = refusal_of}
