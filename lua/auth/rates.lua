-- rates: a node reports the demand of its accounts and receives that of the other nodes, from which it computes its
--   share of an account's rate (shared/http/access/rates.h). It reports only accounts that are near a limit or used
--   nonces.
-- KEYS: rate:<account> hash with TTL (node -> "<ms> <requests a second>"), nonce_counts:<day> hash with TTL (account ->
--   nonces that it used up).
-- Wakes: nobody.
-- Bound: the accounts named, and for each the nodes that reported it within RATE_S seconds.
-- Lane: first.  Home: cluster.  Nonce: no.  Full: runs.
-- Repeatable: nonces are counted again.
-- Arguments:
--   each account 300:
--     name    text 1k
--     per_s   number   requests a second, refused ones too
--     nonces  digits   since the last time
-- Replies: <seconds until the day ends>, then of each account a line `<requests a second of other nodes> <nonces of the
--   day, of all nodes>`
local bounds = require('turn/bounds')
local instants = require('turn/instants')
local call = redis.call
local format, match = string.format, string.match
local concat = table.concat
local floor = math.floor

local RATE_S, RATE_MS = 10, 10000
local COMMANDS = 6 -- for an account
local DAY_S, COUNTS_S = 86400, 172800

-- Sums what other nodes stated of an account recently; deletes older statements.
local function of_others(turn, key)
    local all, sum = call('HGETALL', key), 0
    for i = 1, #all, 2 do
        local at, per_s = match(all[i + 1], '^(%d+) (%d+)$')
        if not instants.is_near(turn, at, RATE_MS) then
            call('HDEL', key, all[i])
        elseif all[i] ~= turn.node then
            sum = sum + per_s
        end
    end
    return sum
end

local function verb(turn, a)
    --- arguments
    local P, day = turn.prefix, floor(turn.now_s / DAY_S)
    local counts, text = P .. 'nonce_counts:' .. format('%d', day), {format('%d', (day + 1) * DAY_S - turn.now_s)}
    local has_counted = false
    for i = account_from, account_to, 3 do
        local name, per_s, nonces = args[i], args[i + 1], args[i + 2]
        local key, n = P .. 'rate:' .. name
        if per_s ~= '0' then
            call('HSET', key, turn.node, turn.now_text .. ' ' .. per_s)
            call('EXPIRE', key, RATE_S)
        end
        if nonces ~= '0' then
            n, has_counted = call('HINCRBY', counts, name, nonces), true
        else
            n = tonumber(call('HGET', counts, name)) or 0
        end
        bounds.note_read(turn, COMMANDS, 0)
        text[#text + 1] = format('%d %d', of_others(turn, key), n)
    end
    if has_counted then call('EXPIRE', counts, COUNTS_S, 'NX') end
    return concat(text, '\n')
end

return {rates = verb}
