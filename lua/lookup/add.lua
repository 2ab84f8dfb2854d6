-- add_lookup: requests matches of a fragment for one query of a topic. Lookups are shared by fingerprint: a fragment is
--   looked up once, and again only for a larger Count or another Threshold. With several shards, note_lookup and
--   open_lookup are its two halves.
-- KEYS: t:<topic>, lookups:<topic> hash ("<seq> <fingerprint>" -> ms), lookup:<fingerprint> hash (fragment, count,
--   threshold, alias, refs, claimed, lease, matches), lookup_alias hash (fingerprint without the newline ->
--   fingerprint), lookups zset (fingerprint -> ms from which it may be claimed), lookups_of hash (account -> lookups in
--   `lookups` that it opened), meta, queue/idle.lua; stored; turn/made.lua.
-- Wakes: one parked poll, by hand-over.
-- Bound: one lookup, and what lookups.offer hands over.
-- Lane: add.  Home: topic.  Nonce: yes.  Full: refused.  Durable: yes.
-- Repeatable: yes.
-- Arguments:
--   topic        name
--   seq          digits
--   user         name?      must have a tie to the topic
--   fingerprint  name
--   alias        name       the fingerprint without the newline
--   fragment     json 512k
--   count        digits
--   threshold    text 32
--   account      name
--   max_open     number     lookups that the account may have open, and no more than its share
--   max_stored   number?    bytes that the query's account may have on this shard; without one a topic that is not
--                           counted stays so
--   max_stored_per_user  number?  of them each of its users; no limit without
--   key          text? 2k   turn/made.lua
-- Replies: reused | ok/ms | missing | waiting/depth//account or topic | full/depth | stored, as of add
--   | replay
local listed = require('lookup/listed')
local lookups = require('lookup/lookups')
local noting = require('lookup/noting')
local made = require('turn/made')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local again = made.again(turn, key)
    if again then return again end
    local P = turn.prefix
    local had, refusal, row, record = listed.check(turn, topic, seq, user, fingerprint)
    if refusal then return refusal end
    local is_to_do
    is_to_do, refusal = lookups.check(turn, fingerprint, count, threshold, account, max_open)
    if refusal then return refusal end
    if not had then
        refusal = noting.count(turn, topic, row, record, #fragment, max_stored, max_stored_per_user)
        if refusal then return refusal end
        call('HSET', P .. 'lookups:' .. topic, seq .. ' ' .. fingerprint, turn.now_ms)
        call('HINCRBY', P .. 'lookup:' .. fingerprint, 'refs', 1)
    end
    if is_to_do then
        local owner = {account = account, user = lookups.turn_taker(row)}
        lookups.begin(turn, fingerprint, alias, fragment, count, threshold, owner, max_stored)
    end
    return made.keep(turn, key, 'ok\n' .. turn.now_text)
end

return {add_lookup = verb}
