-- restore: derives what a backup leaves out from rooms, messages, bots and evaluations, which it copies as they are.
-- Keys are read one after the other while the cluster works, so lists and counts are made from what is there.
local evaluations = require('bots/evaluations')
local messages = require('bots/messages')
local names = require('bots/names')
local registry = require('bots/registry')
local rooms = require('bots/rooms')
local stored = require('queue/stored')
local leased = require('turn/leased')
local call = redis.call
local format, match = string.format, string.match

-- Its newest message and its bytes come with its messages.
local function room(turn, name, fields)
    local id, P = match(name, '^room:(.*)$'), turn.prefix
    local was_here = call('HEXISTS', P .. name, 'created') == 1
    for i = 1, #fields, 2 do
        if fields[i] ~= 'last' and fields[i] ~= 'bytes' then call('HSET', P .. name, fields[i], fields[i + 1]) end
    end
    local r = call('HMGET', P .. name, 'namespace', 'user', 'created', 'account')
    if not r[1] and r[3] then call('ZADD', P .. 'rooms_going', turn.now_text, id) end
    if not (r[1] and r[2] and r[3]) then return end
    if not was_here then rooms.count(turn, r[4], 1) end
    if not call('HGET', P .. name, 'bytes') then rooms.note_empty(turn, id, turn.now_text) end
    call('ZADD', P .. 'rooms:' .. r[1], r[3], id)
    if r[2] ~= rooms.NOBODY then rooms.join_again(turn, r[2], id, r[3]) end
end

local function message(turn, name, id, fields)
    local P, room_id, m = turn.prefix, match(name, '^room_messages:(.*)$'), {}
    for i = 1, #fields, 2 do m[fields[i]] = fields[i + 1] end
    local key = rooms.key_of(turn, room_id)
    local last = call('HGET', key, 'last')
    if not last or messages.is_before(last, id) then call('HSET', key, 'last', id) end
    call('HINCRBY', key, 'bytes', m.bytes)
    call('ZREM', P .. 'rooms_empty', room_id)
    if m.kind ~= 'u' then return end
    call('HINCRBY', P .. 'messages_of', m.name, 1)
    rooms.join_again(turn, m.name, room_id, match(id, '^%d+'))
    if m.whose ~= '' then stored.count(turn, match(m.whose, '^%S+'), m.whose, stored.whole(tonumber(m.bytes))) end
end

local function talk(turn, name)
    local room_id, bot_name = match(name, '^room_talk:([^:]*):(.*)$')
    rooms.join_bot(turn, bot_name, room_id)
end

local function bot(turn, name, fields)
    local P, key = turn.prefix, turn.prefix .. name
    local is_new = call('EXISTS', key) == 0
    call('HSET', key, unpack(fields))
    local b = registry.read(turn, match(name, '^bot:(.*)$'))
    if not (is_new and b) then return end
    names.give(turn, b.name, b.look, b.endpoint == '' and 'p' or 'b')
    call('ZADD', P .. 'bots:' .. b.namespace, b.created, b.name)
    call('ZADD', P .. 'bots_of:' .. b.user, b.created, b.name)
    registry.count(turn, b, 1)
end

-- One that was running may be taken at once.
local function evaluation(turn, name, fields)
    local P, key, id = turn.prefix, turn.prefix .. name, match(name, '^evaluation:(.*)$')
    if call('EXISTS', key) == 1 then return end
    call('HSET', key, unpack(fields))
    local e = evaluations.read(turn, id)
    if not e then return end
    local digits, n = match(id, '^(%x+)%-(%d+)$')
    local last = P .. 'evaluation_last:' .. digits
    if tonumber(n) > tonumber(call('GET', last) or 0) then call('SET', last, n) end
    call('ZADD', P .. 'evaluations_of:' .. e.user, e.created, id)
    if e.status == 'running' then
        evaluations.count_open(turn, e.whose, 1)
        leased.put(turn, evaluations.KIND, e, turn.now_ms)
    else
        call('ZADD', P .. 'evaluations_done', e.updated, id)
    end
    if e.is_counted then stored.count(turn, e.account, e.whose, stored.whole(tonumber(e.bytes))) end
end

-- Stops this race: turns were stored after the evaluation itself was read. It repeats them.
local function cut_turns(turn, name)
    local at = call('HGET', turn.prefix .. 'evaluation:' .. match(name, '^evaluation_turns:(.*)$'), 'at')
    if at == '0' then
        call('UNLINK', turn.prefix .. name)
    elseif at then
        call('LTRIM', turn.prefix .. name, 0, format('%d', at - 1))
    end
end

return {room = room, talk = talk, message = message, bot = bot, evaluation = evaluation, cut_turns = cut_turns}
