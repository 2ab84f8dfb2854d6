-- evaluation_begin: begins a run that measures a bot, and gives it to this node. While a run of the same bot, measure
-- and conversation of this user is unfinished, it is that one; after its end the next one begins.
-- Stops this race: a client sends the same request to two nodes at once (the second one gets `known`).
-- KEYS: evaluation_last:<evaluation>, evaluation:<id>, evaluation_text:<id>, evaluation_due, evaluations_of:<user>,
--   evaluations_open, stored; of the oldest run, if the user has too many: as evaluation_forget_user; turn/made.lua.
-- Wakes: nobody.
-- Bound: one run: 4 MiB; of runs that are over SCAN_MAX are looked at.
-- Lane: add.  Home: evaluation.  Nonce: yes.  Full: refused.  Durable: yes.
-- Repeatable: yes: known.
-- Arguments:
--   evaluation    name     24 hex digits of namespace, account, user, bot, measure and conversation
--   namespace     name
--   account       name
--   user          name     in its namespace
--   bot           name     in its namespace
--   username      json 1k  of the bot
--   measure       words cosine|dot|euclidean
--   turns         digits   how many the conversation has
--   conversation  json 4m
--   max_stored           number?  as of workflow_begin
--   max_stored_per_user  number?  as of workflow_begin
--   key          text? 2k turn/made.lua
-- Replies: reused | begun/run/fence | known/run | replay | full/`open` (10 unfinished ones of that account and user)
--   or `kept` (1,000 of that user, and none of the oldest ones is over) | stored, as of add
local stored = require('queue/stored')
local evaluations = require('bots/evaluations')
local leased = require('turn/leased')
local made = require('turn/made')
local order = require('turn/order')
local call = redis.call
local format = string.format

local SCAN_MAX = 200

-- Is there room for one more run of that user? Of 1,000 the oldest one that is over is deleted.
local function make_room(turn, user)
    local key = turn.prefix .. 'evaluations_of:' .. user
    if call('ZCARD', key) < evaluations.KEPT_MAX then return true end
    for _, id in ipairs(call('ZRANGE', key, 0, SCAN_MAX - 1)) do
        local status = evaluations.field_of(turn, id, 'status')
        if status and status ~= 'running' then
            evaluations.drop(turn, evaluations.read(turn, id))
            return true
        end
    end
    return false
end

local function verb(turn, a)
    --- arguments
    local again = made.again(turn, key)
    if again then return again end
    local P, whose, bytes = turn.prefix, account .. ' ' .. user, #conversation
    local last_key = P .. 'evaluation_last:' .. evaluation
    local last = call('GET', last_key)
    if last then
        local former = evaluations.read(turn, evaluation .. '-' .. last)
        if former and former.status == 'running' then return made.keep(turn, key, 'known\n' .. last) end
    end
    if tonumber(call('HGET', P .. 'evaluations_open', whose) or 0) >= evaluations.OPEN_MAX then return 'full\nopen' end
    if max_stored then
        local refusal = stored.count(turn, account, whose, stored.whole(bytes), max_stored, max_stored_per_user)
        if refusal then return refusal end
    end
    if not make_room(turn, user) then
        if max_stored then stored.count(turn, account, whose, -stored.whole(bytes)) end
        return 'full\nkept'
    end
    local run, mine = format('%d', (last or 0) + 1), P .. 'evaluations_of:' .. user
    local created = order.next_ms(turn, mine)
    local e = {id = evaluation .. '-' .. run, account = account, user = user}
    e.key = evaluations.key_of(turn, e.id)
    call('SET', last_key, run)
    call('HSET', e.key, 'status', 'running', 'namespace', namespace, 'account', account, 'user', user, 'bot', bot,
         'username', username, 'measure', measure, 'turns', turns, 'at', 0, 'created', created,
         'updated', turn.now_text, 'summary', '', 'bytes', bytes, 'text_bytes', bytes)
    if max_stored then call('HSET', e.key, 'is_counted', 1) end
    call('SET', P .. 'evaluation_text:' .. e.id, conversation)
    call('ZADD', mine, created, e.id)
    evaluations.count_open(turn, whose, 1)
    made.keep(turn, key, 'known\n' .. run)
    return 'begun\n' .. run .. '\n' .. leased.give(turn, evaluations.KIND, e)
end

return {evaluation_begin = verb}
