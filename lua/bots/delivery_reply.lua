-- delivery_reply: stores a bot's reply to a delivery, which is then over. The reply tags the people that the delivered
-- message tagged, unless that was a reply itself, and those that its own text mentions.
-- Stops these races: two answers to one delivery (`answered`); a node that lost its lease (`lost`).
-- KEYS: dlv:<delivery>, bots/messages.lua, bots/deliveries.lua.
-- Wakes: as message_add.
-- Bound: as message_add.
-- Lane: first.  Home: room.  Nonce: no.  Full: runs.  Durable: yes.
-- Repeatable: the second time: answered.
-- Arguments:
--   room      name
--   delivery  name
--   fence     digits?      of its lease; absent: any
--   bot       name         whose delivery it is
--   from      json 1k      its plain name
--   text      json 400k
--   is_here   flag         the names are on this shard
--   lease_n   number
--   each mention 50:
--     tag_name  name
--     tag_skeleton  name?
--     tag_json  json 1k
--     tag_kind  words x|u|b|p|a|n
-- Replies: missing | lost | answered/id | resolve/0/names, a line each | ok/id/tagged (JSON)/n/n times
--   (delivery/bot/fence/account/user, as of message_add)/reply_to
local deliveries = require('bots/deliveries')
local messages = require('bots/messages')
local names = require('bots/names')
local rooms = require('bots/rooms')
local call = redis.call
local format, gmatch, match = string.format, string.gmatch, string.match
local concat = table.concat

local function verb(turn, a)
    --- arguments
    local d = deliveries.read(turn, delivery)
    if not d or d.room ~= room or d.bot ~= bot then return 'missing' end
    if d.state == 'done' then return 'answered\n' .. (d.answered or '') end
    if deliveries.OVER[d.state] then return 'lost' end
    if fence ~= '' and not deliveries.is_held(d, fence) then return 'lost' end
    local original = messages.read(turn, room, d.message)
    local r = rooms.load_any(turn, room)
    if not (original and r) then -- its author was deleted, or the room is full of newer ones
        deliveries.finish(turn, d, 'failed', '')
        return 'missing'
    end
    local missing, tags, tagged, bots, seen = {}, {}, {}, {}, {[bot] = true}
    local function put(one, json, kind)
        if seen[one] then return end
        seen[one] = true
        tags[#tags + 1], tagged[#tagged + 1] = kind .. '.' .. one .. ' ' .. json, json
        if kind == 'b' or kind == 'p' then bots[#bots + 1] = {name = one, kind = kind} end
    end
    if original.reply_to == '' then
        for tag in gmatch(original.tags, '[^\n]+') do
            local tag_kind, one, json = match(tag, '^(%a)%.(%S+) (.*)$')
            if tag_kind == 'u' then put(one, json, 'u') end
        end
    end
    for i = mention_from, mention_to, 4 do
        local kind, one = args[i + 3], args[i]
        if kind == 'x' and is_here then kind, one = names.mentioned(turn, one, args[i + 1]) end
        if kind == 'x' then
            missing[#missing + 1] = one
        elseif kind ~= 'n' then
            put(one, one == args[i] and args[i + 2] or names.json_of_bot(one), kind)
        end
    end
    if #missing > 0 then return 'resolve\n0\n' .. concat(missing, '\n') end
    local m = {
        kind = 'b', name = bot, from = from, text = text, tagged = '[' .. concat(tagged, ',') .. ']',
        tags = concat(tags, '\n'), reply_to = original.id, root = original.root, hop = format('%d', d.hop + 1),
        account = d.account, whose = '', asker = d.user,
    }
    local id, created = messages.add(turn, room, r, m, bots, lease_n)
    deliveries.talk(turn, room, bot, m.root, id)
    deliveries.finish(turn, d, 'done', id)
    call('EXPIRE', d.key, 7200)
    return concat({'ok', id, m.tagged, created, original.id}, '\n')
end

return {delivery_reply = verb}
