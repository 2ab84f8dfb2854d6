-- names: records the owner of each name, on the cluster's shard. The hash `room_names`: name -> `u <account>
-- <skeleton>` (a user who has posted; that account claimed it for the user), `b` (a bot), `p` (a bot that pulls). The
-- hash `room_looks`: the skeleton of each (services/bots/skeleton.h), as a name of the namespace -> `@<bot>`, or how
-- many users have it. No two names have the same one if one is a bot's. The hash `names_n` counts users by
-- "<namespace>" and by "<namespace> <account>".
local share = require('turn/share')
local call = redis.call
local match = string.match

local NAMES_MAX = 100000 -- users' names of a namespace

local function kind_of(turn, name)
    return match(call('HGET', turn.prefix .. 'room_names', name) or 'n', '^%a')
end

-- The bot with that skeleton, or nil.
local function bot_like(turn, skeleton)
    return match(call('HGET', turn.prefix .. 'room_looks', skeleton) or '', '^@(.+)$')
end

-- A mentioned name: its kind, and whose it is. A bot may be mentioned by a name that looks like its own.
local function mentioned(turn, name, skeleton)
    local kind = kind_of(turn, name)
    if kind ~= 'n' or skeleton == '' then return kind, name end
    local bot = bot_like(turn, skeleton)
    if not bot then return 'n', name end
    return kind_of(turn, bot), bot
end

-- A bot's plain name, as JSON. Names of bots are ASCII, and not escaped.
local function json_of_bot(bot)
    return '"' .. (match(bot, '^[^~]*~(.*)$') or bot) .. '"'
end

-- Returns why a name cannot be a user's: `taken`, or `full/account` or `full/namespace`, or nil; and whether it is a
-- user's already.
local function refusal_of(turn, name, skeleton, namespace, account)
    local kind = kind_of(turn, name)
    if kind == 'u' then return nil, true end
    if kind ~= 'n' or bot_like(turn, skeleton) then return 'taken' end
    local n = tonumber(call('HGET', turn.prefix .. 'names_n', namespace) or 0)
    local whose = share.refusal(turn.prefix .. 'names_n', namespace .. ' ' .. account, n, NAMES_MAX)
    return whose and 'full\n' .. whose, false
end

local function count(turn, namespace, account, delta)
    share.count(turn.prefix .. 'names_n', namespace, delta)
    share.count(turn.prefix .. 'names_n', namespace .. ' ' .. account, delta)
end

-- The name is a user's from now on. Returns what refuses that.
local function claim(turn, name, skeleton, namespace, account)
    local P, refusal, is_known = turn.prefix, refusal_of(turn, name, skeleton, namespace, account)
    if refusal or is_known then return refusal end
    call('HSET', P .. 'room_names', name, 'u ' .. account .. ' ' .. skeleton)
    share.count(turn.prefix .. 'room_looks', skeleton, 1)
    count(turn, namespace, account, 1)
    return nil
end

-- The name of a user is free again. Of a bot nothing changes.
local function free(turn, name)
    local P, namespace = turn.prefix, match(name, '^([^~]*)~') or '%'
    local account, skeleton = match(call('HGET', P .. 'room_names', name) or '', '^u (%S+) (%S+)$')
    if not account then return end
    call('HDEL', P .. 'room_names', name)
    share.count(turn.prefix .. 'room_looks', skeleton, -1)
    count(turn, namespace, account, -1)
end

-- The user has no message left on this shard. Of several shards another one may have some, so the name stays.
local function leave(turn, name)
    if turn.is_sharded then
        call('SREM', turn.prefix .. 'names_known', name)
    else
        free(turn, name)
    end
end

-- A bot has the name, and all that look like it.
local function give(turn, bot, skeleton, kind)
    call('HSET', turn.prefix .. 'room_names', bot, kind)
    call('HSET', turn.prefix .. 'room_looks', skeleton, '@' .. bot)
end

local function take_back(turn, bot, skeleton)
    call('HDEL', turn.prefix .. 'room_names', bot)
    call('HDEL', turn.prefix .. 'room_looks', skeleton)
end

-- Does anybody have a name that looks like that?
local function is_skeleton_taken(turn, skeleton)
    return call('HEXISTS', turn.prefix .. 'room_looks', skeleton) == 1
end

return {
    free = free, leave = leave, kind_of = kind_of, mentioned = mentioned, json_of_bot = json_of_bot, claim = claim,
    refusal_of = refusal_of, give = give, take_back = take_back, is_skeleton_taken = is_skeleton_taken,
}
