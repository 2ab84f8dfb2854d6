-- open_lookup: the second half of add_lookup with several shards: records that a topic needs a lookup and opens it if
--   necessary.
-- Stops this race: the topic was deleted after it had recorded the need, and its needs were released before this call.
-- KEYS: lookup:<fingerprint> hash, needs:<fingerprint> set, released:<digest> string, lookup_alias, lookups zset,
--   lookups_of hash, meta, queue/idle.lua; turn/made.lua.
-- Wakes: one parked poll, by hand-over.
-- Bound: one lookup, and what lookups.offer hands over.
-- Lane: add.  Home: cluster.  Nonce: no.  Full: refused.  Durable: yes.
-- Repeatable: yes.
-- Arguments:
--   need         text 1k    "<topic>:<number>"
--   fingerprint  name
--   alias        name       the fingerprint without the newline
--   fragment     json 512k
--   count        digits
--   threshold    text 32
--   account      name
--   user         name       who takes turns with the account's other users (note_lookup)
--   max_open     number     lookups that the account may have open, and no more than its share
--   is_counted   flag       its matches are counted for the account
--   key          text? 2k   turn/made.lua
-- Replies: reused | ok/ms | missing (the topic is gone) | waiting/depth//account | full/depth
local lookups = require('lookup/lookups')
local needs = require('lookup/needs')
local made = require('turn/made')
local call = redis.call

local function verb(turn, a)
    --- arguments
    local again = made.again(turn, key)
    if again then return again end
    local P = turn.prefix
    if call('EXISTS', needs.released_key(turn, need)) == 1 then return 'missing' end
    local is_to_do, refusal = lookups.check(turn, fingerprint, count, threshold, account, max_open)
    if refusal then return refusal end
    call('SADD', P .. 'needs:' .. fingerprint, need)
    if is_to_do then
        local owner = {account = account, user = user}
        lookups.begin(turn, fingerprint, alias, fragment, count, threshold, owner, is_counted)
    end
    return made.keep(turn, key, 'ok\n' .. turn.now_text)
end

return {open_lookup = verb}
