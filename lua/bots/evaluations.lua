-- evaluations: durable runs that measure a bot, the hash evaluation:<id> each, with the conversation
-- (evaluation_text:<id>, until the run is over) and a JSON per turn (the list evaluation_turns:<id>). An id is
-- "<evaluation>-<run>": 24 hex digits of namespace, account, user, bot, measure and conversation, and the number of
-- their run; evaluation_last:<evaluation> is the newest one's. A run that is `running` is driven by one node under a
-- fence, a number that only rises, until the time in evaluation_due (turn/due.lua); after that evaluation_take
-- gives it to another node.
--   running -> done | cancelled | failed
local stored = require('queue/stored')
local bounds = require('turn/bounds')
local hashes = require('turn/hashes')
local leased = require('turn/leased')
local call = redis.call
local format, match = string.format, string.match

local LEASE_MS = 15000
local KIND = {
    set = 'evaluation_due', key = 'evaluation:', state = 'status', held_in = {running = true}, ms = LEASE_MS,
    longest_ms = LEASE_MS * leased.LONGEST,
} -- turn/leased.lua
local OPEN_MAX = 10          -- unfinished runs of an account and user, on this shard
local KEPT_MAX = 1000        -- runs of a user, on this shard
local KEPT_MS = 30 * 86400000
local TURNS_BYTES = 16777216 -- of one run

local function key_of(turn, id)
    return turn.prefix .. 'evaluation:' .. id
end

local function split(id)
    return match(id, '^(%x+)%-(%d+)$')
end

-- A run, or nil.
local function read(turn, id)
    local key = key_of(turn, id)
    local e = hashes.fields(key, 'status', 'namespace', 'account', 'user', 'bot', 'username', 'measure', 'turns', 'at',
                            'fence', 'created', 'updated', 'summary', 'bytes', 'text_bytes', 'is_counted', 'taken')
    if not e.status then return nil end
    e.key, e.id, e.whose = key, id, e.account .. ' ' .. e.user
    return e
end

-- A field of a run, of one that is only looked at: its summary may be long.
local function field_of(turn, id, field)
    bounds.note_read(turn, 1, 0)
    return call('HGET', key_of(turn, id), field)
end

-- The same if it is a run of that account and user.
local function read_of(turn, id, account, user)
    local e = read(turn, id)
    return e and e.account == account and e.user == user and e or nil
end

-- One more unfinished run of an account and user, or one less.
local function count_open(turn, whose, delta)
    local key = turn.prefix .. 'evaluations_open'
    if call('HINCRBY', key, whose, delta) <= 0 then call('HDEL', key, whose) end
end

-- That many bytes more are stored for a run, or less. They are counted if its account had a limit when it began.
local function grow(turn, e, bytes)
    local now = e.bytes + bytes
    local more = stored.whole(now) - stored.whole(tonumber(e.bytes))
    if e.is_counted and more ~= 0 then stored.count(turn, e.account, e.whose, more) end
    e.bytes = format('%d', now)
    call('HSET', e.key, 'bytes', e.bytes)
end

-- The run is over: nobody drives it, and its conversation is not needed any more.
local function finish(turn, e, status)
    local P = turn.prefix
    call('HSET', e.key, 'status', status, 'updated', turn.now_text, 'text_bytes', 0)
    grow(turn, e, -e.text_bytes)
    call('UNLINK', P .. 'evaluation_text:' .. e.id)
    leased.forget(turn, KIND, e)
    call('ZADD', P .. 'evaluations_done', turn.now_text, e.id)
    count_open(turn, e.whose, -1)
end

-- Deletes a run, whose driver loses its fence by that.
local function drop(turn, e)
    local P = turn.prefix
    if e.status == 'running' then finish(turn, e, 'cancelled') end
    if e.is_counted then stored.count(turn, e.account, e.whose, -stored.whole(tonumber(e.bytes))) end
    local evaluation, run = split(e.id)
    if call('GET', P .. 'evaluation_last:' .. evaluation) == run then
        call('EXPIRE', P .. 'evaluation_last:' .. evaluation, KEPT_MS / 1000)
    end
    call('UNLINK', e.key, P .. 'evaluation_turns:' .. e.id)
    call('ZREM', P .. 'evaluations_of:' .. e.user, e.id)
    call('ZREM', P .. 'evaluations_done', e.id)
end

-- A run as 13 lines, which evaluation_read describes.
local function lines(e)
    return table.concat({
        e.id, e.status, e.namespace, e.account, e.user, e.bot, e.username, e.measure, e.turns, e.at, e.created,
        e.updated, e.summary,
    }, '\n')
end

return {
    KIND = KIND, OPEN_MAX = OPEN_MAX, KEPT_MAX = KEPT_MAX, KEPT_MS = KEPT_MS, TURNS_BYTES = TURNS_BYTES,
    key_of = key_of, read = read, field_of = field_of, read_of = read_of, count_open = count_open,
    grow = grow, finish = finish, drop = drop, lines = lines,
}
