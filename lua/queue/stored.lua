-- stored: counts the bytes stored for each account and each of its users (max_stored). The hash `stored` has them by
-- "<account> <user>", in whole BLOCKs per topic, and by "<account>": all of its users, each in whole UNITs, plus
-- matches for lookups that it opened. A topic records what it was counted with, so that its deletion subtracts exactly
-- that: its field `stored` is "<bytes> <account> <user>" of its first asker. A "+" before it means that others have
-- asked there too, and each of them has a field "stored:<account> <user>". Rows, answers and the fragments of lookups
-- are counted. Most additions change only that field, which is written with the row or the answer. A topic without the
-- field is not counted: one of Parley's own questions (queue/ask.lua), or of accounts without limits.
local call = redis.call
local byte, find, format, match, sub = string.byte, string.find, string.format, string.match, string.sub

local BLOCK, UNIT = 4096, 65536
local NOBODY = '% %' -- the user who asked first has left with all that it asked

local function whole(bytes)
    return bytes + -bytes % BLOCK
end

-- Changes a field of the hash `stored` by that many bytes, and returns what it is then. The first change of a turn is
-- written at once, which is how it is read; others at the turn's end.
local function change(turn, field, bytes)
    local sums = turn.stored_sums
    if not sums then
        sums = {}
        turn.stored_sums, turn.stored_deltas = sums, {}
    end
    local sum, deltas = sums[field], turn.stored_deltas
    if sum then
        sum, deltas[field] = sum + bytes, (deltas[field] or 0) + bytes
    else
        sum = call('HINCRBY', turn.prefix .. 'stored', field, format('%d', bytes))
    end
    sums[field] = sum
    return sum
end

local function flush(turn)
    local sums, deltas = turn.stored_sums, turn.stored_deltas
    if not sums then return end
    local key = turn.prefix .. 'stored'
    for field, sum in pairs(sums) do
        local bytes = deltas[field]
        if sum <= 0 then
            call('HDEL', key, field)
        elseif bytes and bytes ~= 0 then
            call('HINCRBY', key, field, format('%d', bytes))
        end
    end
end

local function refusal(used, most, of)
    return 'stored\n' .. format('%d', used) .. '\n' .. format('%d', most) .. '\n' .. of
end

-- Counts that many bytes more, or less, of a user of an account. With limits (`most` of the account, `most_of_user`)
-- returns what refuses that, if it is more than may be: then nothing is counted.
local function count(turn, account, whose, bytes, most, most_of_user)
    local sum = change(turn, whose, bytes)
    local units = bytes + -sum % UNIT - (bytes - sum) % UNIT -- that the user has more
    local refused = most_of_user and sum > most_of_user and refusal(sum - bytes, most_of_user, 'user')
    if units ~= 0 and not refused then
        local of_account = change(turn, account, units)
        if not most or of_account <= most then return nil end
        change(turn, account, -units)
        refused = refusal(of_account - units, most, 'account')
    end
    if refused then change(turn, whose, -bytes) end
    return refused or nil
end

local function give_back(turn, whose, bytes)
    if whose ~= NOBODY then count(turn, match(whose, '^%S+'), whose, -whole(bytes)) end
end

-- '+' or '', bytes, whose.
local function parse(record)
    return match(record, '^(%+?)(%d+) (.+)$')
end

-- Counts that many bytes more, or less, of a user in a topic where others have asked, too.
local function move_of_other(turn, key, record, account, whose, bytes, most, most_of_user)
    local field = 'stored:' .. whose
    local now = call('HINCRBY', key, field, format('%d', bytes))
    local more = whole(now) - whole(now - bytes)
    local refused = more ~= 0 and count(turn, account, whose, more, most, most_of_user)
    if refused then now = call('HINCRBY', key, field, format('%d', -bytes)) end
    if now <= 0 then call('HDEL', key, field) end
    if refused then return nil, refused end
    return byte(record) == 43 and record or '+' .. record
end

-- Counts that many bytes more, or less, of a user in a topic, whose field `stored` the caller has read (`record`).
-- Returns the field as the caller is to write it, or nil and what refuses it.
local function move(turn, key, record, account, user, bytes, most, most_of_user)
    local whose, had, others = account .. ' ' .. user, 0, ''
    if record then
        local owner
        others, had, owner = parse(record)
        if owner ~= whose then
            return move_of_other(turn, key, record, account, whose, bytes, most, most_of_user)
        end
    end
    local now = had + bytes
    local more = whole(now) - whole(had)
    local refused = more ~= 0 and count(turn, account, whose, more, most, most_of_user)
    if refused then return nil, refused end
    return others .. format('%d', now) .. ' ' .. whose
end

-- The same of bytes that belong to a row, of a topic that is counted.
local function move_of_row(turn, key, record, row, bytes, most, most_of_user)
    local account, user = match(row, '^%d+\n(%S+) (%S+) ')
    return move(turn, key, record, account, user, bytes, most, most_of_user)
end

-- Counts an answer, of a topic that is counted: nothing refuses it, since it answers what was accepted. Returns the
-- field `stored` as the caller is to write it.
local function add_answer(turn, key, record, row, bytes)
    if byte(record) ~= 43 then -- all rows are of one user
        local at = find(record, ' ', 1, true)
        local had = sub(record, 1, at - 1)
        local now = had + bytes
        if -now % BLOCK - -had % BLOCK == bytes * -1 then return format('%d', now) .. sub(record, at) end
    end
    return (move_of_row(turn, key, record, row, bytes))
end

-- A topic goes, and is still there: what it was counted with is given back.
local function release(turn, key, record)
    if not record then return end
    local others, bytes, whose = parse(record)
    give_back(turn, whose, bytes)
    if others == '' then return end
    local fields = call('HKEYS', key)
    for i = 1, #fields do
        if sub(fields[i], 1, 7) == 'stored:' then give_back(turn, sub(fields[i], 8), call('HGET', key, fields[i])) end
    end
end

-- Releases what these accounts (a set) asked in a topic on behalf of that user; the topic stays.
local function release_user(turn, key, accounts, user)
    local record = call('HGET', key, 'stored')
    if not record then return end
    local others, bytes, owner = parse(record)
    for account in pairs(accounts) do
        local whose = account .. ' ' .. user
        local mine = owner == whose and bytes or call('HGET', key, 'stored:' .. whose)
        if mine then give_back(turn, whose, mine) end
        if owner == whose then
            call('HSET', key, 'stored', others .. '0 ' .. NOBODY)
        elseif mine then
            call('HDEL', key, 'stored:' .. whose)
        end
    end
end

-- Counts a topic's field out of a backup, which is about to be written; what it was before counts no more.
local function restore(turn, key, field, value)
    local whose = sub(field, 1, 7) == 'stored:' and sub(field, 8)
    if not whose and field ~= 'stored' then return end
    local had, bytes = call('HGET', key, field), value
    local before, _ = whose, nil
    if not whose then
        _, bytes, whose = parse(value)
        if had then _, had, before = parse(had) end
    end
    if had then give_back(turn, before, had) end
    if whose ~= NOBODY then count(turn, match(whose, '^%S+'), whose, whole(bytes)) end
end

return {
    change = change, count = count, whole = whole, move = move, move_of_row = move_of_row, add_answer = add_answer,
    release = release, release_user = release_user, restore = restore, flush = flush,
}
