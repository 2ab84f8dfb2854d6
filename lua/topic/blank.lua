-- blank: blanks a user's queries in a topic that other users share. The Seqs must not change, so each row stays,
--   Cancelled and without its text, user, modifiers and answer.
local charges = require('account/charges')
local lookups = require('lookup/lookups')
local needs = require('lookup/needs')
local held = require('queue/held')
local leases = require('queue/leases')
local records = require('queue/records')
local stored = require('queue/stored')
local waiters = require('queue/waiters')
local drop = require('topic/drop')
local hashes = require('turn/hashes')
local call = redis.call
local byte, find, format, match, sub = string.byte, string.find, string.format, string.match, string.sub
local max, min = math.max, math.min

local CHUNK = 100
-- Fields that a query may have which is Done.
local OF_ENDED = {'a:', 'b:', 'h:', 'i:', 'j:', 'k:', 'm:', 'r:', 'v:', 'x:', 'y:'}
local REASON = '"Deleted with the data of its user."'

-- The row without what its user wrote.
local function blank(row)
    local ms, account, model, weight, at = match(row, '^(%d+)\n(%S+) %S+ (%S+) (%S+)()\n')
    at = find(row, '\n', at + 1, true) -- its third line is the user
    local model_json = sub(row, at + 1, find(row, '\n', at + 1, true) - 1)
    return ms .. '\n' .. account .. ' % ' .. model .. ' ' .. weight .. '\n""\n' .. model_json .. '\n{}\n\n""'
end

local function end_claims(turn, topic, claims)
    local key = turn.prefix .. 't:' .. topic
    for lease, seqs in pairs(claims) do
        local earlier = call('HGET', key, 'c:' .. lease)
        call('HSET', key, 'c:' .. lease, earlier and earlier .. ',' .. seqs or seqs)
        if not leases.has_ended(turn, lease) and #held.held_by(turn, topic, lease) == 0 then
            leases.finish(turn, lease, topic)
            call('HDEL', key, 'l:' .. lease)
        end
    end
end

-- Forgets the lookups of these queries (Seq -> true), as far as no other one needs them.
local function forget_lookups(turn, topic, gone)
    local key, kept, dropped, n = turn.prefix .. 'lookups:' .. topic, {}, {}, 0
    for _, field in ipairs(call('HKEYS', key)) do
        local seq, fingerprint = match(field, '^(%d+) (%x+)$')
        if gone[seq] then
            call('HDEL', key, field)
            if not turn.is_sharded then lookups.forget(turn, fingerprint) end
            dropped[#dropped + 1], n = fingerprint, n + 1
        else
            kept[fingerprint] = true
        end
    end
    if turn.is_sharded then needs.release_some(turn, topic, dropped, kept) end
    return n
end

-- The last of the Seqs from `from` to `last` whose rows are read now, and how many bytes they are.
local function page_end(key, from, last, left)
    local bytes = 0
    for seq = from, last do
        bytes = bytes + hashes.bytes_of(key, 'q:' .. seq)
        if seq > from and (bytes > left.bytes or seq - from >= left.rows) then return seq - 1, bytes end
    end
    return last, bytes
end

-- Blanks what the user asked from that Seq on, as far as `left` goes. Returns the Seq to continue with, nil when all is
-- done, and counts queries and lookups in `gone`.
local function blank_rows(turn, user, topic, from, left, gone)
    local P = turn.prefix
    local key = P .. 't:' .. topic
    local last = tonumber(call('HGET', key, 'seq'))
    local to, bytes = page_end(key, from, last, left)
    local claims, blanked, streams, accounts = {}, {}, {}, {}
    left.rows, left.bytes = left.rows - max(0, to - from + 1), left.bytes - bytes - hashes.bytes_of(key, 'open')
    drop.drop_open(turn, topic, from, user)
    for at = from, to, CHUNK do
        local stop, names, values, fields = min(at + CHUNK - 1, to), {}, {}, {}
        for seq = at, stop do
            for _, letter in ipairs({'q:', 's:', 'w:', 'g:'}) do names[#names + 1] = letter .. format('%d', seq) end
        end
        local got = call('HMGET', key, unpack(names))
        for i = 1, #names, 4 do
            local row, state, waiting, grant = got[i], got[i + 1], got[i + 2], got[i + 3]
            if row and records.user_of(row) == user then
                local seq = sub(names[i], 3)
                local lease = records.parse_pending(state)
                if grant then charges.charge_unanswered(turn, topic, seq, state, row, grant, false) end
                accounts[match(row, '^%d+\n(%S+)')] = true
                if lease then claims[lease] = claims[lease] and claims[lease] .. ',' .. seq or seq end
                if state and byte(state) == 70 then call('ZREM', P .. 'failed', topic .. ' ' .. seq) end
                local n = #values
                values[n + 1], values[n + 2], values[n + 3] = names[i], blank(row), names[i + 1]
                values[n + 4], values[n + 5], values[n + 6] = 'C ' .. REASON, names[i + 2], ''
                local k = #fields
                fields[k + 1], fields[k + 2], fields[k + 3] = 'a:' .. seq, 'b:' .. seq, 'd:' .. seq
                fields[k + 4], fields[k + 5], fields[k + 6] = 'f:' .. seq, 'k:' .. seq, 'm:' .. seq
                fields[k + 7], fields[k + 8] = 'r:' .. seq, 'x:' .. seq
                fields[k + 9], fields[k + 10] = 'e:' .. seq, 'o:' .. seq
                fields[k + 11], fields[k + 12] = 'v:' .. seq, 'y:' .. seq
                fields[k + 13], fields[k + 14], fields[k + 15] = 'h:' .. seq, 'i:' .. seq, 'j:' .. seq
                streams[#streams + 1] = P .. 'partials:' .. topic .. ':' .. seq
                if seq == '1' then fields[#fields + 1] = 'title' end
                blanked[seq], gone.queries = true, gone.queries + 1
                waiters.notify(turn, topic, seq, waiting, 'changed\n' .. topic .. '\n' .. seq)
            end
        end
        if #values > 0 then
            call('HSET', key, unpack(values))
            call('HDEL', key, unpack(fields))
            call('UNLINK', unpack(streams))
            streams = {}
        end
    end
    end_claims(turn, topic, claims)
    stored.release_user(turn, key, accounts, user)
    if next(blanked) then gone.lookups = gone.lookups + forget_lookups(turn, topic, blanked) end
    return to < last and to + 1 or nil
end

-- Blanks one query that is Done.
local function blank_ended(turn, topic, seq, row)
    local key = turn.prefix .. 't:' .. topic
    call('HSET', key, 'q:' .. seq, blank(row), 's:' .. seq, 'C ' .. REASON)
    for _, letter in ipairs(OF_ENDED) do call('HDEL', key, letter .. seq) end
    if seq == '1' then call('HDEL', key, 'title') end
    call('UNLINK', turn.prefix .. 'partials:' .. topic .. ':' .. seq)
    forget_lookups(turn, topic, {[seq] = true})
end

return {blank_rows = blank_rows, blank_ended = blank_ended}
