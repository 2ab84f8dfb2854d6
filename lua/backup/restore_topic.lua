-- restore_topic: restores a part of a topic. Its rows are the only source; other keys about it are rebuilt from them
-- here: open:<model>:<user>, turns:<model>, models, waiting, shares, stored, meta's depth, topics:<user>, names:<user>,
-- users, failed, responses, lookups:<topic>, asks, asked:<digest>. Unknown fields are kept unchanged. No query is
-- Pending afterwards: Pending ones are Open, and that claim does not count as an attempt. If a row or a topic comes
-- twice (a hash that grew while it was read), the second copy counts.
-- KEYS: t:<topic> and those.
-- Wakes: nobody.
-- Bound: one piece: 1 MiB, or one row.
-- Lane: add.  Home: topic.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   topic     name
--   is_first  flag  the first piece of it
--   each pair 4000:
--     field  text 1m   as services/backup/read.lua gives them
--     value  text? 64m
-- Replies: ok
local restored = require('backup/restored')
local fair = require('queue/fair')
local open_list = require('queue/open_list')
local shares = require('queue/shares')
local stored = require('queue/stored')
local bounds = require('turn/bounds')
local call = redis.call
local byte, gmatch, match = string.byte, string.gmatch, string.match
local concat, sort = table.concat, table.sort

local RESTORE_FAILED_MAX = 1000

-- Restores `open` from what is to be in it by Seq: attempts, or false for a row that has ended.
local function restore_open(turn, topic, rows, attempts)
    local P = turn.prefix
    local key, items, list, left = P .. 't:' .. topic, {}, {}, {}
    local had = call('HGET', key, 'open')
    for item in gmatch(had or '', '[^;]+') do
        local seq, model, user, account = match(item, '^(%d+) %d+ (%S+) (%S+) (%S+)')
        items[seq] = {tonumber(seq), item .. ';', model, user, account}
    end
    for seq, n in pairs(attempts) do
        local old = items[seq]
        if n then
            local ms, account, user, model, weight = match(rows[seq], '^(%d+)\n(%S+) (%S+) (%S+) (%S+)\n')
            items[seq] = {tonumber(seq), open_list.item(seq, n, model, user, account, weight), model, user, account}
            if not old then shares.count(turn, account, user, model, 1) end
            fair.enqueue(turn, model, user, topic, tonumber(ms) * 1000, false)
            call('ZADD', P .. 'open:' .. model .. ':' .. user, 'LT', tonumber(ms) * 1000, topic)
        elseif old then
            items[seq] = nil
            shares.count(turn, old[5], old[4], old[3], -1)
            left[old[3] .. ' ' .. old[4]] = {old[3], old[4]}
        end
    end
    for _, item in pairs(items) do
        list[#list + 1] = item
        left[item[3] .. ' ' .. item[4]] = nil
    end
    for _, pair in pairs(left) do fair.dequeue(turn, pair[1], pair[2], topic) end
    sort(list, function(x, y) return x[1] < y[1] end)
    for i = 1, #list do list[i] = list[i][2] end
    if had or #list > 0 then call('HSET', key, 'open', concat(list)) end
end

-- Restores what another key says of the topic.
local function restore_tie(turn, topic, what, of, value)
    local P = turn.prefix
    local key = P .. 't:' .. topic
    if what == 'tie' then
        call('ZADD', P .. 'topics:' .. of, value, topic)
        call('SADD', P .. 'users', of)
    elseif what == 'name' then
        call('HSET', P .. 'names:' .. of, topic, value)
    elseif what == 'failed' then
        call('ZADD', P .. 'failed', value, topic .. ' ' .. of)
        call('ZREMRANGEBYRANK', P .. 'failed', 0, -RESTORE_FAILED_MAX - 1)
    elseif what == 'response' then
        call('ZADD', P .. 'responses', value, topic .. ' ' .. of)
    elseif what == 'asks' then
        call('ZADD', P .. 'asks', value, topic)
    elseif what == 'asked' then
        call('SET', P .. 'asked:' .. call('HGET', key, 'digest'), topic)
    elseif what == 'lookup' then
        call('HSETNX', P .. 'lookups:' .. topic, of, value) -- its lookup may be on another shard: restore_refs counts
    end
end

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local key, own, ties, rows, attempts, states, names = P .. 't:' .. topic, {}, {}, {}, {}, {}, {}
    for i = pair_from, pair_to, 2 do
        local field, value = args[i], args[i + 1]
        if byte(field) == 64 then
            local what, of = match(field, '^@(%a+) ?(.*)$')
            if what == 'open' then
                attempts[of] = value
            else
                ties[#ties + 1] = {what, of, value}
            end
        else
            own[#own + 1], own[#own + 2] = field, value
            if byte(field) == 115 then names[#names + 1] = i end -- a state, or what is stored
            local kind, seq = match(field, '^([qs]):(%d+)$')
            if kind == 'q' then rows[seq] = value end
            if kind == 's' then states[seq] = true end
        end
    end
    if is_first and call('EXISTS', key) == 1 then restored.drop(turn, topic) end
    local is_known = call('EXISTS', key) == 1
    for i = 1, #names do stored.restore(turn, key, args[names[i]], args[names[i] + 1]) end
    bounds.in_parts(own, function(...) call('HSET', key, ...) end)
    for seq in pairs(attempts) do
        if states[seq] then error('restore_topic: ' .. topic .. ' ' .. seq) end
        if is_known then
            call('HDEL', key, 's:' .. seq, 'a:' .. seq)
            call('ZREM', P .. 'failed', topic .. ' ' .. seq)
        end
    end
    for seq in pairs(states) do attempts[seq] = false end
    restore_open(turn, topic, rows, attempts)
    for i = 1, #ties do restore_tie(turn, topic, unpack(ties[i])) end
    return 'ok'
end

return {restore_topic = verb}
