-- bot_register: registers a bot under a name that nobody has, nor one that looks like it: neither a user who has posted
-- nor another bot.
-- Stops these races: two clients register one name (the second one gets `taken`); a user posts under that name at the
--   same moment (the script that comes first has it).
-- KEYS: room_names, room_looks, bot:<name>, bots:<namespace>, bots_of:<user>, bots_n; turn/made.lua.
-- Wakes: nobody.
-- Bound: one bot: 6 KiB.
-- Lane: add.  Home: cluster.  Nonce: yes.  Full: refused.  Durable: yes.
-- Repeatable: yes, with the same id: ok.
-- Arguments:
--   bot        name      its name, with its namespace
--   skeleton   name      what it looks like, in the namespace
--   is_asked   flag      bots may not be called that: only whether the name is taken
--   namespace  name      of all of its bots a list is kept; `%` for none
--   id         name      16 hex digits, random: what keys of a former bot of that name do not have
--   username   json 1k
--   emulates   json? 2k  the person that it emulates
--   endpoint   text? 2k  '': it pulls
--   body_format  words annex|zulip  how its requests and answers are written
--   account    name      of the registrant
--   user       name      of the registrant, in the namespace
--   role       name      of that account
--   key        text? 2k  turn/made.lua
-- Replies: ok/generation | replay | reused | taken | free (it is only asked) | full/`namespace` (1,000 bots),
--   `account` (half of them) or `registrant` (50 of that account and user)
local names = require('bots/names')
local registry = require('bots/registry')
local made = require('turn/made')
local order = require('turn/order')
local share = require('turn/share')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local again = made.again(turn, key)
    if again then return again end
    local P, whose = turn.prefix, account .. ' ' .. user
    local known = registry.read(turn, bot)
    if known and known.id == id then return 'ok\n' .. known.generation end
    if names.kind_of(turn, bot) ~= 'n' or names.is_skeleton_taken(turn, skeleton) then return 'taken' end
    if is_asked then return 'free' end
    local all = P .. 'bots:' .. namespace
    local full = share.refusal(P .. 'bots_n', account, call('ZCARD', all), registry.NAMESPACE_MAX)
    if full then return 'full\n' .. full end
    if tonumber(call('HGET', P .. 'bots_n', whose) or 0) >= registry.REGISTRANT_MAX then return 'full\nregistrant' end
    local created = order.next_ms(turn, all)
    names.give(turn, bot, skeleton, endpoint == '' and 'p' or 'b')
    call('HSET', registry.key_of(turn, bot), 'id', id, 'namespace', namespace, 'username', username,
         'emulates', emulates, 'endpoint', endpoint, 'format', body_format, 'account', account, 'user', user,
         'role', role, 'look', skeleton, 'generation', 1, 'rotated', turn.now_text, 'created', created, 'failures', 0,
         'open_until', '', 'trial_until', '')
    call('ZADD', all, created, bot)
    call('ZADD', P .. 'bots_of:' .. user, created, bot)
    registry.count(turn, {account = account, user = user}, 1)
    return made.keep(turn, key, 'ok\n1')
end

return {bot_register = verb}
