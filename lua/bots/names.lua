-- names: records the owner of each name, on the cluster's shard. The hash `room_names`: name -> `u <account>
-- <skeleton>` (a user who has posted; that account claimed it for the user), `b` (a bot), `p` (a bot that pulls). The
-- hash `room_looks`: the skeleton of each (services/bots/skeleton.h), as a name of the namespace -> `@<bot>`, or how
-- many users have it. No two names have the same one if one is a bot's. The hash `names_n` counts users by
-- "<namespace>" and by "<namespace> <account>".
-- With several shards, name_uses:<name> says which of them have messages of the user: shard -> number of its claim
-- (name_claim), one of that shard's own (turn/counters.lua). So has the item that it puts into its `outbox` when the
-- user's last message there goes, which ends its claims with smaller numbers (release_names). A name without uses is
-- free. names_known of a shard is the set of names that it has claimed; `names_left` of its `meta` is the number of the
-- last one that left: a claim that is older may be over already, and is made again (ADR 30).
local counters = require('turn/counters')
local events = require('turn/events')
local share = require('turn/share')
local call = redis.call
local format, match = string.format, string.match

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

local function uses_of(turn, name)
    return turn.prefix .. 'name_uses:' .. name
end

-- The shard whose number that is, as a field of the uses.
local function shard_of(turn, number)
    return format('%d', number % turn.settings.shard_n)
end

-- A shard uses the name. Which ones use a name that a restore brought is not known: it has a use that does not end.
local function use(turn, name, number, is_known)
    local uses, shard = uses_of(turn, name), shard_of(turn, number)
    if is_known and call('EXISTS', uses) == 0 then call('HSET', uses, 'restored', 1) end
    if tonumber(call('HGET', uses, shard) or 0) < number then call('HSET', uses, shard, format('%d', number)) end
end

-- The name is a user's from now on. `number`: of the claim, with several shards. Returns what refuses that.
local function claim(turn, name, skeleton, namespace, account, number)
    local P, refusal, is_known = turn.prefix, refusal_of(turn, name, skeleton, namespace, account)
    if refusal then return refusal end
    if not is_known then
        call('HSET', P .. 'room_names', name, 'u ' .. account .. ' ' .. skeleton)
        share.count(turn.prefix .. 'room_looks', skeleton, 1)
        count(turn, namespace, account, 1)
    end
    if turn.is_sharded then use(turn, name, number, is_known) end
    return nil
end

-- The name of a user is free again. Of a bot nothing changes.
local function free(turn, name)
    local P, namespace = turn.prefix, match(name, '^([^~]*)~') or '%'
    local account, skeleton = match(call('HGET', P .. 'room_names', name) or '', '^u (%S+) (%S+)$')
    if not account then return end
    call('HDEL', P .. 'room_names', name)
    if turn.is_sharded then call('DEL', uses_of(turn, name)) end
    share.count(turn.prefix .. 'room_looks', skeleton, -1)
    count(turn, namespace, account, -1)
end

-- A shard uses the name no longer, unless it has claimed it again since it gave that number.
local function release(turn, name, number)
    local uses, shard = uses_of(turn, name), shard_of(turn, number)
    local claimed = call('HGET', uses, shard)
    if not claimed or tonumber(claimed) > number then return end
    call('HDEL', uses, shard)
    if call('EXISTS', uses) == 0 then free(turn, name) end
end

-- Has this shard claimed the name, or may it count on that claim (its number; nil: none)?
local function is_claimed(turn, name, number)
    local P = turn.prefix
    if call('SISMEMBER', P .. 'names_known', name) == 1 then return true end
    return number and number > tonumber(call('HGET', P .. 'meta', 'names_left') or 0)
end

-- The user has a message on this shard, and its claim was made.
local function keep(turn, name)
    call('SADD', turn.prefix .. 'names_known', name)
end

-- The user has no message left on this shard.
local function leave(turn, name)
    local P = turn.prefix
    if not turn.is_sharded then return free(turn, name) end
    if call('SREM', P .. 'names_known', name) == 0 then return end
    local number = counters.next_lease(turn)
    call('HSET', P .. 'meta', 'names_left', number)
    call('ZADD', P .. 'outbox', 0, '@' .. number .. ' ' .. name)
    if not turn.has_left then events.send(turn, turn.node, 'outbox') end
    turn.has_left = true
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
    free = free, leave = leave, release = release, kind_of = kind_of, mentioned = mentioned,
    json_of_bot = json_of_bot, claim = claim, is_claimed = is_claimed, keep = keep, refusal_of = refusal_of,
    give = give, take_back = take_back, is_skeleton_taken = is_skeleton_taken,
}
