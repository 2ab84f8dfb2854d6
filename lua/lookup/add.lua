-- add_lookup: asks for matches of a fragment, for one query of a topic. Lookups are shared by
-- fingerprint: the same fragment is looked up once, again only for a larger Count or another
-- Threshold.
-- KEYS: t:<topic>, lookups:<topic> hash ("<seq> <fingerprint>" -> ms), lookup:<fingerprint> hash (fragment, count,
--   threshold, alias, refs, claimed, matches), lookup_alias hash (fingerprint without the newline -> fingerprint),
--   lookups zset (fingerprint -> ms from which it may be claimed), lookups_of hash (account -> lookups in `lookups`
--   that it opened), lookup_nodes set.
-- Wakes: one node with a parked lookup poll.
-- Bound: one lookup.
-- Lane: add.  Home: topic.  Nonce: yes.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   topic        name
--   seq          digits
--   user         name?      must have a part in the topic
--   fingerprint  name
--   alias        name       the fingerprint without the newline
--   fragment     json 512k
--   count        digits
--   threshold    text 32
--   account      name
--   max_open     number     lookups that the account may have open, and no more than its share
-- Replies: ok/ms | missing | waiting/depth (of the account, or of the topic) | full/depth | replay
local LOOKUPS_PER_TOPIC = 1000

-- A lookup is to be done, because of that account.
local function open_lookup(fingerprint, account)
    if call('ZADD', P .. 'lookups', now_ms, fingerprint) == 0 then return end
    call('HSET', P .. 'lookup:' .. fingerprint, 'by', account)
    call('HINCRBY', P .. 'lookups_of', account, 1)
end

-- It is done, or nobody needs it any more.
local function close_lookup(fingerprint)
    if call('ZREM', P .. 'lookups', fingerprint) == 0 then return end
    local key = P .. 'lookup:' .. fingerprint
    local account = call('HGET', key, 'by')
    if not account then return end
    call('HDEL', key, 'by')
    if call('HINCRBY', P .. 'lookups_of', account, -1) <= 0 then call('HDEL', P .. 'lookups_of', account) end
end

-- A topic no longer needs a lookup; it goes with the last one that did.
local function forget_lookup(fingerprint)
    local key = P .. 'lookup:' .. fingerprint
    if call('HINCRBY', key, 'refs', -1) > 0 then return end
    local alias = call('HGET', key, 'alias')
    if alias then call('HDEL', P .. 'lookup_alias', alias) end
    close_lookup(fingerprint)
    call('DEL', key)
end

-- Wakes one node that has a poll for lookups. The registration is used up by the wake.
local function wake_lookup_node()
    while true do
        local to = call('SPOP', P .. 'lookup_nodes')
        if not to then return end
        if to == node or is_alive(to) then
            send_event(to, 'lookup')
            return
        end
    end
end

verbs.add_lookup = function(a)
    --- arguments
    local got = call('HMGET', P .. 't:' .. topic, 'q:' .. seq, 'u:' .. user)
    if not got[1] or (user ~= '' and not got[2]) then return 'missing' end
    local mine, field = P .. 'lookups:' .. topic, seq .. ' ' .. fingerprint
    local key = P .. 'lookup:' .. fingerprint
    local is_new = call('HEXISTS', mine, field) == 0
    if is_new and call('HLEN', mine) >= LOOKUPS_PER_TOPIC then return 'waiting\n' .. LOOKUPS_PER_TOPIC end
    local had = call('HMGET', key, 'count', 'threshold')
    local is_to_do = not had[1] or tonumber(had[1]) < tonumber(count) or had[2] ~= threshold
    if is_to_do and not call('ZSCORE', P .. 'lookups', fingerprint) then
        local has_open = tonumber(call('HGET', P .. 'lookups_of', account)) or 0
        if has_open >= min(max_open, share_of_queue()) then return 'waiting\n' .. has_open end
        local depth = call('ZCARD', P .. 'lookups')
        if depth >= queue_max then return 'full\n' .. depth end
    end
    if is_new then
        call('HSET', mine, field, now_ms)
        call('HINCRBY', key, 'refs', 1)
    end
    if is_to_do then
        call('HSET', key, 'fragment', fragment, 'count', count, 'threshold', threshold, 'alias', alias)
        call('HSET', P .. 'lookup_alias', alias, fingerprint)
        open_lookup(fingerprint, account)
        wake_lookup_node()
    end
    return 'ok\n' .. now_ms
end
