-- bot_register: registers a bot under a name that nobody has: neither a user who has posted nor another bot.
-- Stops these races: two clients register one name (the second one gets `taken`); a user posts under that name at the
--   same moment (the script that comes first has it).
-- KEYS: room_names, bot:<name>, bots:<namespace>, bots_of:<user>, bots_n.
-- Wakes: nobody.
-- Bound: one bot: 6 KiB.
-- Lane: add.  Home: cluster.  Nonce: yes.  Full: refused.  Durable: yes.
-- Repeatable: yes, with the same id: ok.
-- Arguments:
--   bot        name      its name, with its namespace
--   namespace  name      of all of its bots a list is kept; `%` for none
--   id         name      16 hex digits, random: what keys of a former bot of that name do not have
--   username   json 1k
--   emulates   json? 2k  the person whom it emulates
--   endpoint   text? 2k  '': it pulls
--   body_format  words annex|zulip  how its requests and answers look
--   account    name      of the registrant
--   user       name      of the registrant, in the namespace
--   role       name      of that account
-- Replies: ok/generation | replay | taken | full/`namespace` (1,000 bots) or `registrant` (50 of that account and user)
local registry = require('bots/registry')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local P, whose = turn.prefix, account .. ' ' .. user
    local known = registry.read(turn, bot)
    if known and known.id == id then return 'ok\n' .. known.generation end
    if call('HEXISTS', P .. 'room_names', bot) == 1 then return 'taken' end
    if call('ZCARD', P .. 'bots:' .. namespace) >= registry.NAMESPACE_MAX then return 'full\nnamespace' end
    if tonumber(call('HGET', P .. 'bots_n', whose) or 0) >= registry.REGISTRANT_MAX then return 'full\nregistrant' end
    call('HSET', P .. 'room_names', bot, endpoint == '' and 'p' or 'b')
    call('HSET', registry.key_of(turn, bot), 'id', id, 'namespace', namespace, 'username', username,
         'emulates', emulates, 'endpoint', endpoint, 'format', body_format, 'account', account, 'user', user,
         'role', role, 'generation', 1, 'rotated', turn.now_text, 'created', turn.now_text, 'failures', 0,
         'open_until', '', 'trial_until', '')
    call('ZADD', P .. 'bots:' .. namespace, turn.now_text, bot)
    call('ZADD', P .. 'bots_of:' .. user, turn.now_text, bot)
    call('HINCRBY', P .. 'bots_n', whose, 1)
    return 'ok\n1'
end

return {bot_register = verb}
