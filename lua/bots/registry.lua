-- registry: bots, on the cluster's shard: the hash bot:<name> of each, the zset bots:<namespace> (name -> created), the
-- zset bots_of:<user> of those that a user registered, and the hash bots_n, which counts them per account and user, and
-- per account. bots/names.lua says who has a name. Keys and secrets of a bot are derived from its name, id and
-- generation (services/bots/registry); they are never stored.
local names = require('bots/names')
local hashes = require('turn/hashes')
local instants = require('turn/instants')
local share = require('turn/share')
local call = redis.call
local format = string.format
local max, min = math.max, math.min

local NAMESPACE_MAX = 1000
local REGISTRANT_MAX = 50
local FORMER_MS = 3600000     -- how long the former generation's key and secret stay good
local FAILURES, REST_MS = 5, 30000 -- failed deliveries in a row that open the circuit, and for how long
local TRIAL_MS = 15000        -- then one delivery at a time tries; how long it may take

local function key_of(turn, bot)
    return turn.prefix .. 'bot:' .. bot
end

-- A bot's fields, or nil.
local function read(turn, bot)
    local key = key_of(turn, bot)
    local b = hashes.fields(key, 'id', 'namespace', 'username', 'emulates', 'endpoint', 'format', 'account', 'user',
                            'role', 'look', 'generation', 'rotated', 'created', 'failures', 'open_until', 'trial_until')
    if not b.id then return nil end
    b.key, b.name, b.whose = key, bot, b.account .. ' ' .. b.user
    return b
end

local function may_change(b, account, user, is_operator)
    return is_operator or (b.account == account and b.user == user)
end

-- Is the key of the generation before the newest one still good?
local function is_former_good(turn, b)
    return b.generation ~= '1' and instants.is_near(turn, b.rotated, FORMER_MS)
end

-- Does the bot rest: `closed` (it is called), `open` (it is not), `half` (one delivery at a time tries).
local function circuit(turn, b)
    if b.open_until == '' then return 'closed' end
    return instants.is_ahead(turn, b.open_until, REST_MS) and 'open' or 'half'
end

-- Returns whether this caller tries a circuit that is half open. Until `trial_until` no other one does.
local function try(turn, b)
    if b.trial_until ~= '' and instants.is_ahead(turn, b.trial_until, TRIAL_MS) then return false end
    call('HSET', b.key, 'trial_until', format('%d', turn.now_ms + TRIAL_MS))
    return true
end

-- One bot more of its registrant, or one less.
local function count(turn, b, delta)
    share.count(turn.prefix .. 'bots_n', b.account .. ' ' .. b.user, delta)
    share.count(turn.prefix .. 'bots_n', b.account, delta)
end

-- The bot goes, and its name is free.
local function remove(turn, b)
    local P = turn.prefix
    call('UNLINK', b.key)
    names.take_back(turn, b.name, b.look)
    call('ZREM', P .. 'bots:' .. b.namespace, b.name)
    call('ZREM', P .. 'bots_of:' .. b.user, b.name)
    count(turn, b, -1)
end

-- A bot as 16 lines, which bot_find describes.
local function lines(turn, b)
    return table.concat({
        b.name, b.id, b.username, b.emulates, b.endpoint, b.format, b.account, b.user, b.role, b.generation,
        is_former_good(turn, b) and '1' or '0', b.rotated, b.created, b.failures, circuit(turn, b),
        b.open_until == '' and '0' or format('%d', min(REST_MS, max(0, b.open_until - turn.now_ms))),
    }, '\n')
end

return {
    NAMESPACE_MAX = NAMESPACE_MAX, REGISTRANT_MAX = REGISTRANT_MAX, FAILURES = FAILURES, REST_MS = REST_MS,
    key_of = key_of, read = read, may_change = may_change, circuit = circuit, try = try, count = count,
    remove = remove, lines = lines,
}
