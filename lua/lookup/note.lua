-- note_lookup: the first half of add_lookup with several shards: records that a query of a topic needs a lookup. The
--   other half is open_lookup; a node that dies between them leaves a note of a need that never began, which no list
--   shows.
-- KEYS: t:<topic>, lookups:<topic> hash ("<seq> <fingerprint>" -> "<ms>.<stamp>"), stored, meta.
-- Wakes: nobody.
-- Bound: one lookup, LOOKUPS_PER_TOPIC of a topic.
-- Lane: add.  Home: topic.  Nonce: no.  Full: refused.  Durable: yes.
-- Repeatable: yes.
-- Arguments:
--   topic        name
--   seq          digits
--   user         name?   must have a tie to the topic
--   fingerprint  name
--   bytes        number?  of its fragment as JSON; without: they are not counted
--   max_stored   number?  that the query's account may have on this shard
--   max_stored_per_user  number?  of them each of its users; no limit without
-- Replies: ok/number of the topic/stamp, with which this one may be taken back ('': it was there before)/the user whose
--   query it is for, as open_lookup takes it | missing | waiting/n//topic | stored, as of add
local listed = require('lookup/listed')
local lookups = require('lookup/lookups')
local needs = require('lookup/needs')
local noting = require('lookup/noting')
local counters = require('turn/counters')
local call = redis.call
local match = string.match

local function verb(turn, a)
    --- arguments
    local had, refusal, row, record = listed.check(turn, topic, seq, user, fingerprint)
    if not had and not refusal and bytes then
        refusal = noting.count(turn, topic, row, record, bytes, max_stored, max_stored_per_user)
    end
    if refusal then return refusal end
    local number, stamp = needs.number_of(turn, topic), counters.next_lease(turn)
    local when = had and match(had, '^%d+') or turn.now_text
    call('HSET', turn.prefix .. 'lookups:' .. topic, seq .. ' ' .. fingerprint, when .. '.' .. stamp)
    return 'ok\n' .. number .. '\n' .. (had and '' or stamp) .. '\n' .. lookups.turn_taker(row)
end

return {note_lookup = verb}
