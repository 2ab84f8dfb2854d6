-- deliveries: one message for one bot each, the hash dlv:<delivery>, on the shard of its room. Its id is
-- "dlv_<room>_<message>_<k>"; k says which bot of that message. Nothing is lost with a node: each unfinished delivery
-- has a time in `dlv_due` (turn/due.lua) at which some node takes it.
--   waiting -> leased -> (accepted ->) done | failed
-- `leased`: one node calls the bot's endpoint under a fence, a number that only rises. `accepted`: the bot will answer
-- within 15 minutes. A bot without an endpoint pulls: its deliveries stay `waiting` until it has answered, are listed
-- in dlv_pull:<bot>, and nodes take them only to say in the room that the answer is late. The first answer ends a
-- delivery; the hash is kept for an hour, so that a second one is recognised.
local rooms = require('bots/rooms')
local bounds = require('turn/bounds')
local events = require('turn/events')
local hashes = require('turn/hashes')
local leased = require('turn/leased')
local order = require('turn/order')
local share = require('turn/share')
local call = redis.call
local format, sub = string.format, string.sub

local BUSY = 100             -- unfinished deliveries of a bot, on this shard; one account may have half of them
local CALL_MS = 70000        -- until then an attempt may begin
local ATTEMPTS = 5
local OF_MESSAGE = 10        -- a message calls no more bots
local FIND, DROP = 1, 16      -- commands for a delivery that may be there, and for one that is dropped
local OVERDUE_MS = 60000     -- when the room learns that a bot that pulls has not answered yet
local ANSWER_MS = 900000     -- how long an accepted or a pulled delivery may take
local PULLS, PULL_MS = 5, 30000 -- how often a bot may take a delivery, and how long it then has it alone
local POLL_S = 90
local TALK_MAX, TALK_S = 100, 90 * 86400 -- messages of a conversation; how long after the last one it is kept
local KEPT_MS = 3600000
local TAKES_MAX, VAIN_MS = 6, 1800000 -- takes without an attempt, and the age, after which no node takes it any more

local OVER = {done = true, failed = true}
local KIND = {
    set = 'dlv_due', key = 'dlv:', state = 'state', held_in = {waiting = true, leased = true, accepted = true},
    ms = 15000, longest_ms = ANSWER_MS,
} -- turn/leased.lua

local function key_of(turn, id)
    return turn.prefix .. 'dlv:' .. id
end

-- A delivery, or nil.
local function read(turn, id)
    local key = key_of(turn, id)
    local d = hashes.fields(key, 'room', 'message', 'bot', 'kind', 'hop', 'state', 'attempt', 'fence', 'created',
                            'account', 'user', 'is_busy', 'is_late', 'accepted', 'answered', 'pulls', 'taken')
    if not d.state then return nil end
    d.key, d.id = key, id
    return d
end

-- Gives a delivery to this node. was_due: nobody had it, or its node died. Returns the fence.
local function give(turn, d, was_due)
    if d.kind == 'b' and d.state == 'waiting' then call('HSET', d.key, 'state', 'leased') end
    return (was_due and leased.give_carefully or leased.give)(turn, KIND, d)
end

-- Has each node died that took it? Nobody waits for it any more.
local function is_in_vain(turn, d)
    return tonumber(d.taken or 0) > TAKES_MAX and turn.now_ms - d.created > VAIN_MS
end

-- Says to nodes with a parked poll of that bot that there is something for it.
local function wake(turn, bot)
    local nodes = call('ZRANGEBYSCORE', turn.prefix .. 'dlv_polls:' .. bot, '(' .. turn.now_text, '+inf')
    for i = 1, #nodes do events.send(turn, nodes[i], 'delivery\n' .. bot) end
end

-- One more unfinished delivery of a bot, or one less, because of that account. Returns whether the bot, or the account
-- at that bot, had as many as it may.
local function count(turn, bot, account, delta)
    local of_bot = share.count(turn.prefix .. 'dlv_n', bot, delta)
    local of_account = share.count(turn.prefix .. 'dlv_of', bot .. ' ' .. account, delta)
    return of_bot > BUSY or of_account > share.of(BUSY)
end

-- Tells users apart whose turn deliveries take. A delivery outlives its message and its user for an hour, so it has no
-- name.
local function asker_of(user)
    return sub(redis.sha1hex(user), 1, 16)
end

-- Creates a delivery of a message (id, hop, account, asker) to a bot (name, kind): `k` says which one of that message
-- (1, 2, ...), the bot's kind whether it has an endpoint (`b`) or pulls (`p`). may_lease: this node may have it at
-- once. Of a bot that has too many of them the delivery is only there for the node that says so in the room. Returns
-- its id, and its fence ('': this node does not have it).
local function create(turn, room, message, k, bot, may_lease)
    local P, id = turn.prefix, 'dlv_' .. room .. '_' .. message.id .. '_' .. format('%d', k)
    local d = {
        id = id, key = key_of(turn, id), kind = bot.kind, state = 'waiting', account = message.account,
        user = message.asker,
    }
    call('HSET', d.key, 'room', room, 'message', message.id, 'bot', bot.name, 'kind', bot.kind, 'hop', message.hop,
         'account', message.account, 'user', message.asker, 'state', 'waiting', 'attempt', 0, 'fence', '',
         'created', turn.now_text)
    local is_busy = count(turn, bot.name, message.account, 1)
    if is_busy then call('HSET', d.key, 'is_busy', 1) end
    if bot.kind == 'p' and not is_busy then
        leased.put(turn, KIND, d, turn.now_ms + OVERDUE_MS)
        call('ZADD', P .. 'dlv_pull:' .. bot.name, order.score_of(turn.now_us), id)
        wake(turn, bot.name)
        return id, ''
    end
    if may_lease and not is_busy then return id, give(turn, d) end
    leased.put(turn, KIND, d, turn.now_ms)
    return id, ''
end

-- Returns the task of the node that takes it: `call` the bot, say that it is `busy`, that its answer is `late`, or
-- that there will be none (`over`).
local function task_of(d)
    if d.is_busy then return 'busy' end
    if d.state == 'accepted' then return 'over' end
    if d.kind == 'p' then return d.is_late and 'over' or 'late' end
    return 'call'
end

-- Does this node hold it, under this fence?
local function is_held(d, fence)
    return not OVER[d.state] and d.fence == fence
end

-- The delivery is over: `done` or `failed`. answered: the id of the reply, or ''.
local function finish(turn, d, state, answered)
    local P = turn.prefix
    call('HSET', d.key, 'state', state, 'answered', answered)
    leased.forget(turn, KIND, d)
    call('ZADD', P .. 'dlv_done', turn.now_text, d.id)
    if d.kind == 'p' then call('ZREM', P .. 'dlv_pull:' .. d.bot, d.id) end
    count(turn, d.bot, d.account, -1)
end

-- A message goes, with its deliveries: bots cannot answer them any more.
local function drop_of(turn, room, message)
    for k = 1, OF_MESSAGE do
        local d = read(turn, 'dlv_' .. room .. '_' .. message .. '_' .. format('%d', k))
        bounds.note_read(turn, d and DROP or FIND, 0)
        if d then
            if not OVER[d.state] then finish(turn, d, 'failed', '') end
            call('UNLINK', d.key)
            call('ZREM', turn.prefix .. 'dlv_done', d.id)
        end
    end
end

local function forget_talk(turn, room, bot)
    call('UNLINK', turn.prefix .. 'room_talk:' .. room .. ':' .. bot)
end

-- The conversation of a room with a bot has one more message. root: the first message of its chain of replies.
local function talk(turn, room, bot, root, message)
    local key = turn.prefix .. 'room_talk:' .. room .. ':' .. bot
    if call('RPUSH', key, root .. ' ' .. message) == 1 then rooms.join_bot(turn, bot, room) end
    call('LTRIM', key, -TALK_MAX, -1)
    call('EXPIRE', key, TALK_S)
end

return {
    KIND = KIND, OF_MESSAGE = OF_MESSAGE, CALL_MS = CALL_MS, ATTEMPTS = ATTEMPTS, ANSWER_MS = ANSWER_MS,
    PULLS = PULLS, PULL_MS = PULL_MS, POLL_S = POLL_S, KEPT_MS = KEPT_MS, OVER = OVER,
    asker_of = asker_of, key_of = key_of, read = read, give = give, create = create, task_of = task_of,
    is_held = is_held, is_in_vain = is_in_vain, finish = finish, drop_of = drop_of, forget_talk = forget_talk,
    talk = talk,
}
