-- message_add: stores a message of a person, or of the main bot, and creates its deliveries to bots. Names whose kind
-- this shard does not know are returned (`resolve`), unless the names are on this shard: the node looks them up and
-- calls again.
-- Stops this race: a bot is registered under the author's name meanwhile (`taken`).
-- KEYS: room:<room>, room_messages:<room>, room_watch:<room>, rooms_of:<user>, room_members:<room>, messages_of,
--   room_names, room_looks, names_n, names_known, name_uses:<name>, outbox, stored, bots/deliveries.lua, turn/made.lua.
-- Wakes: nodes that watch the room, and those with a poll of a bot that pulls.
-- Bound: one message: 400 KiB; 10 deliveries; removes 1,500 messages that are too old, and as many bytes as it has.
-- Lane: add.  Home: room.  Nonce: no.  Full: refused.  Durable: yes.
-- Repeatable: adds another one, unless it has a key: again.
-- Arguments:
--   room        name
--   namespace   name
--   kind        words user|annex
--   name        name         of the author, in the namespace
--   skeleton    name?        of a user: what the name looks like
--   from        json 1k      its plain name
--   text        json 400k
--   reply_to    text? 64     id
--   account     name
--   whose       name         the user for whom the main bot speaks; otherwise the author
--   calls_bots  flag
--   is_here     flag         the names are on this shard
--   claim       number?      of the author's name, which was made (name_claim)
--   reply_kind  name         of the author of reply_to, if that is a bot's message: as tag_kind
--   lease_n     number       deliveries that this node may have at once
--   max_stored           number?  bytes that the account may store on this shard; absent: bytes are not counted
--   max_stored_per_user  number?  bytes that each of its users may store; absent: no limit
--   key         text? 2k     turn/made.lua
--   each mention 70:
--     tag_name  name
--     tag_skeleton  name?    what it looks like: bots are found by that, too
--     tag_json  json 1k      its plain name
--     must      flag         it must exist
--     tag_kind  name         x: not known yet, u: a user, b: a bot, p: one that pulls, a: the main bot, n: nobody
-- Replies: missing | reply (there is no such message to reply to) | calls (it would call more than 10 bots) |
--   taken (a bot has the author's name, or one that looks like it) | full, as of name_claim |
--   unknown/n (the n-th mention, which must exist, is nobody's) | resolve/number/names, a line each (the number of
--   the claim of the author's name that must be made before, or 0) |
--   stored, as of add | ok/id/tagged (JSON)/n/n times (delivery/bot/fence/account/digest
--   of the user: whose turn it takes) | again/id/tagged/0 | reused
local deliveries = require('bots/deliveries')
local messages = require('bots/messages')
local names = require('bots/names')
local rooms = require('bots/rooms')
local stored = require('queue/stored')
local counters = require('turn/counters')
local made = require('turn/made')
local format = string.format
local concat = table.concat

local function verb(turn, a)
    --- arguments
    local again = made.again(turn, key)
    if again then return again end
    local r = rooms.read(turn, room, namespace, 'n', 'bytes')
    if not r then return 'missing' end
    local original = messages.read(turn, room, reply_to)
    if reply_to ~= '' and not original then return 'reply' end
    local missing, tags, tagged, bots, seen, seen_tags = {}, {}, {}, {}, {[name] = true}, {}
    -- Its kind, and whose name it is; nil: it is asked for.
    local function resolve(one, one_skeleton, known)
        if one == name and kind == 'user' then known = 'u' end
        if known ~= 'x' then return known, one end
        if is_here then return names.mentioned(turn, one, one_skeleton) end
        missing[#missing + 1] = one
    end
    local function tag(found, one, json)
        if seen_tags[one] then return end
        seen_tags[one] = true
        tags[#tags + 1], tagged[#tagged + 1] = found .. '.' .. one .. ' ' .. json, json
    end
    local function call_bot(bot, bot_kind)
        if seen[bot] or (bot_kind ~= 'b' and bot_kind ~= 'p') then return end
        seen[bot] = true
        bots[#bots + 1] = {name = bot, kind = bot_kind}
    end
    local has_name = kind == 'annex'
    if not has_name and is_here then
        local refusal = names.refusal_of(turn, name, skeleton, namespace, account)
        if refusal then return refusal end
        has_name = true
    elseif not has_name then
        has_name = names.is_claimed(turn, name, claim)
    end
    for i = mention_from, mention_to, 5 do
        local found, one = resolve(args[i], args[i + 1], args[i + 4])
        if found == 'n' and args[i + 3] == '1' then
            return 'unknown\n' .. format('%d', (i - mention_from) / 5 + 1)
        elseif found and found ~= 'n' then
            tag(found, one, one == args[i] and args[i + 2] or names.json_of_bot(one))
            call_bot(one, found)
        end
    end
    if calls_bots and original and original.kind == 'b' then
        call_bot(original.name, (resolve(original.name, '', reply_kind)))
    end
    if #missing > 0 or not has_name then
        return concat({'resolve', has_name and 0 or counters.next_lease(turn), concat(missing, '\n')}, '\n')
    end
    if calls_bots and #bots > deliveries.OF_MESSAGE then return 'calls' end
    local m = {
        kind = kind == 'user' and 'u' or 'a', name = name, from = from, text = text,
        tagged = '[' .. concat(tagged, ',') .. ']',
        tags = concat(tags, '\n'), reply_to = reply_to, root = original and original.root or '', hop = '0',
        account = account, whose = '', asker = deliveries.asker_of(whose),
    }
    if kind == 'user' and max_stored then
        m.whose = account .. ' ' .. whose
        local bytes = stored.whole(messages.bytes_of(m))
        local refusal = stored.count(turn, account, m.whose, bytes, max_stored, max_stored_per_user)
        if refusal then return refusal end
    end
    if kind == 'user' then
        rooms.join(turn, name, room, turn.now_text)
        if is_here then
            local number = turn.is_sharded and tonumber(counters.next_lease(turn))
            names.claim(turn, name, skeleton, namespace, account, number)
        end
        if turn.is_sharded then names.keep(turn, name) end
    end
    local id, created = messages.add(turn, room, r, m, calls_bots and bots or {}, lease_n)
    made.keep(turn, key, concat({'again', id, m.tagged, '0'}, '\n'))
    return concat({'ok', id, m.tagged, created}, '\n')
end

return {message_add = verb}
