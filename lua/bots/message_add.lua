-- message_add: stores a message of a person, or of the main bot, and creates its deliveries to bots. Names whose kind
-- this shard does not know are returned (`resolve`), unless the names are on this shard: the node looks them up and
-- calls again.
-- Stops this race: a bot is registered under the author's name meanwhile (`taken`).
-- KEYS: room:<room>, room_messages:<room>, room_watch:<room>, rooms_of:<user>, messages_of, room_names, names_n,
--   names_known, stored, bots/deliveries.lua.
-- Wakes: nodes that watch the room, and those with a poll of a bot that pulls.
-- Bound: one message: 400 KiB; CALLS deliveries; removes 1,500 messages that are too old, and as many bytes as it has.
-- Lane: add.  Home: room.  Nonce: no.  Full: refused.  Durable: yes.
-- Repeatable: adds another one.
-- Arguments:
--   room        name
--   namespace   name
--   kind        words user|annex
--   name        name         of the author, in the namespace
--   from        json 1k      its plain name
--   text        json 400k
--   reply_to    text? 64     id
--   account     name
--   whose       name         the user for whom the main bot speaks; otherwise the author
--   calls_bots  flag
--   is_here     flag         the names are on this shard
--   is_claimed  flag         the author's name is known to be a user's
--   reply_kind  name         of the author of reply_to, if that is a bot's message: as tag_kind
--   lease_n     number       deliveries that this node may have at once
--   max_stored           number?  bytes that the account may store on this shard; absent: bytes are not counted
--   max_stored_per_user  number?  bytes that each of its users may store; absent: no limit
--   each mention 70:
--     tag_name  name
--     tag_json  json 1k      its plain name
--     must      flag         it must exist
--     tag_kind  name         x: not known yet, u: a user, b: a bot, p: one that pulls, a: the main bot, n: nobody
-- Replies: missing | reply (there is no such message to reply to) | calls (it would call more than CALLS bots) |
--   taken (a bot has the author's name) | full (too many users' names) | unknown/n (the n-th mention, which must exist,
--   is nobody's) | resolve/is_claimed/names, a line each | stored, as of add |
--   ok/id/tagged (JSON)/n/n times (delivery/bot/fence/account/user: whose turn it takes)
local messages = require('bots/messages')
local names = require('bots/names')
local rooms = require('bots/rooms')
local stored = require('queue/stored')
local call = redis.call
local format = string.format
local concat = table.concat

local CALLS = 10

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local r = rooms.read(turn, room, namespace, 'n', 'bytes')
    if not r then return 'missing' end
    local original = messages.read(turn, room, reply_to)
    if reply_to ~= '' and not original then return 'reply' end
    local missing, tags, tagged, bots, seen = {}, {}, {}, {}, {[name] = true}
    -- nil: it is asked for.
    local function kind_of(one, known)
        if one == name and kind == 'user' then known = 'u' end
        if known ~= 'x' then return known end
        if is_here then return names.kind_of(turn, one) end
        missing[#missing + 1] = one
    end
    local function call_bot(bot, bot_kind)
        if seen[bot] or (bot_kind ~= 'b' and bot_kind ~= 'p') then return end
        seen[bot] = true
        bots[#bots + 1] = {name = bot, kind = bot_kind}
    end
    local has_name = kind == 'annex' or is_claimed
    if not has_name and is_here then
        local refusal = names.refusal_of(turn, name, namespace)
        if refusal then return refusal end
        has_name = true
    elseif not has_name then
        has_name = call('SISMEMBER', P .. 'names_known', name) == 1
    end
    for i = mention_from, mention_to, 4 do
        local found = kind_of(args[i], args[i + 3])
        if found == 'n' and args[i + 2] == '1' then
            return 'unknown\n' .. format('%d', (i - mention_from) / 4 + 1)
        elseif found and found ~= 'n' then
            tags[#tags + 1], tagged[#tagged + 1] = found .. '.' .. args[i] .. ' ' .. args[i + 1], args[i + 1]
            call_bot(args[i], found)
        end
    end
    if calls_bots and original and original.kind == 'b' then
        call_bot(original.name, kind_of(original.name, reply_kind))
    end
    if #missing > 0 or not has_name then
        return concat({'resolve', has_name and 1 or 0, concat(missing, '\n')}, '\n')
    end
    if calls_bots and #bots > CALLS then return 'calls' end
    local m = {
        kind = kind == 'user' and 'u' or 'a', name = name, from = from, text = text,
        tagged = '[' .. concat(tagged, ',') .. ']',
        tags = concat(tags, '\n'), reply_to = reply_to, root = original and original.root or '', hop = '0',
        account = account, whose = '', asker = whose,
    }
    if kind == 'user' and max_stored then
        m.whose = account .. ' ' .. whose
        local bytes = stored.whole(messages.bytes_of(m))
        local refusal = stored.count(turn, account, m.whose, bytes, max_stored, max_stored_per_user)
        if refusal then return refusal end
    end
    if kind == 'user' then
        rooms.join(turn, name, room)
        if is_here then names.claim(turn, name, namespace) else call('SADD', P .. 'names_known', name) end
    end
    local id, created = messages.add(turn, room, r, m, calls_bots and bots or {}, lease_n)
    return concat({'ok', id, m.tagged, created}, '\n')
end

return {message_add = verb}
