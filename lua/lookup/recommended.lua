-- recommended: records who sent each recommendation, so that the accounts and users with most lose theirs first; what a
-- user said for and against a fragment; and which ones were removed, for engines that have read them.
local stored = require('queue/stored')
local bounds = require('turn/bounds')
local call = redis.call
local match, sub = string.match, string.sub
local max = math.max
local SCAN_BYTES = bounds.SCAN_BYTES

local REMOVED_KEPT = 10000 -- an engine that has missed more reads everything again
local COMMANDS = 8 -- to delete one
local JUDGED_MAX = 100 -- per kind, user and fragment

local function count(turn, account, user, delta)
    local P = turn.prefix
    local users = P .. 'recommenders:' .. account
    if tonumber(call('ZINCRBY', users, delta, user)) <= 0 then call('ZREM', users, user) end
    if tonumber(call('ZINCRBY', P .. 'recommenders', delta, account)) <= 0 then
        call('ZREM', P .. 'recommenders', account)
    end
end

local function judged_key(turn, account, user)
    return turn.prefix .. 'judged:' .. account .. ':' .. user
end

-- Indexes an entry by its account and user, so that it can be dropped in turn, and by its judgement of a fragment
-- (`judged`: "<digest> P", "<digest> F" or nil).
local function list(turn, id, account, user, judged)
    call('RPUSH', turn.prefix .. 'recommended:' .. account .. ':' .. user, id)
    count(turn, account, user, 1)
    if judged then call('ZADD', judged_key(turn, account, user), 0, judged .. ' ' .. id) end
end

-- Indexes and counts an entry that a restore wrote, given its fields.
local function restore(turn, id, _, _, _, account, _, user, _, bytes, _, judged)
    list(turn, id, account, user, judged)
    if bytes then stored.count(turn, account, account .. ' ' .. user, tonumber(bytes)) end
end

local function read(turn, id)
    local entry = call('XRANGE', turn.prefix .. 'recommendations', id, id)[1]
    if not entry then return nil end
    local fields = {}
    for i = 1, #entry[2], 2 do fields[entry[2][i]] = entry[2][i + 1] end
    bounds.note_read(turn, COMMANDS, #fields.r)
    return fields
end

-- Deletes an entry of the stream and records the removal under a new id of the same stream, so that one cursor covers
-- additions and removals.
local function take_out(turn, id)
    local P = turn.prefix
    local all = P .. 'recommendations'
    call('XDEL', all, id)
    local at = call('XADD', all, '*', 'd', id)
    call('XDEL', all, at)
    call('XADD', P .. 'unrecommended', 'MAXLEN', REMOVED_KEPT, at, 'd', id)
end

-- Deletes an entry of that user and subtracts its counted bytes. Returns the bytes of its JSON.
local function delete(turn, id, account, user)
    local fields = read(turn, id)
    if not fields then return 0 end
    take_out(turn, id)
    if fields.n then stored.count(turn, account, account .. ' ' .. user, -fields.n) end
    if fields.j then call('ZREM', judged_key(turn, account, user), fields.j .. ' ' .. id) end
    return #fields.r
end

-- Removes one entry of any user. Returns false if it does not exist.
local function remove(turn, id)
    local fields = read(turn, id)
    if not fields then return false end
    local account, user = fields.a, fields.u
    call('LREM', turn.prefix .. 'recommended:' .. account .. ':' .. user, 1, id)
    count(turn, account, user, -1)
    delete(turn, id, account, user)
    return true
end

-- Removes the user's entries of that kind for a fragment, except the newest `kept_n`. Returns how many it removed.
local function unjudge(turn, account, user, digest, kind, kept_n)
    local from = digest .. ' ' .. kind .. ' '
    local found = call('ZRANGEBYLEX', judged_key(turn, account, user), '[' .. from, '[' .. from .. '\255')
    for i = 1, #found - kept_n do remove(turn, sub(found[i], #from + 1)) end
    return max(#found - kept_n, 0)
end

-- Runs before a user promotes ('P') or flags ('F') a fragment: removes the user's opposite entries for it. Returns how
-- many it removed.
local function judge(turn, account, user, digest, kind)
    unjudge(turn, account, user, digest, kind, JUDGED_MAX - 1)
    return unjudge(turn, account, user, digest, kind == 'P' and 'F' or 'P', 0)
end

-- Drops the oldest entry of the user who has most, of the account that has most.
local function drop(turn)
    local P = turn.prefix
    local account = call('ZREVRANGE', P .. 'recommenders', 0, 0)[1]
    local user = call('ZREVRANGE', P .. 'recommenders:' .. account, 0, 0)[1]
    local id = call('LPOP', P .. 'recommended:' .. account .. ':' .. user)
    count(turn, account, user, -1)
    delete(turn, id, account, user)
end

-- Drops a user's entries, at most n per account and SCAN_BYTES in total. Returns how many it dropped.
local function drop_of(turn, user, n)
    local P, gone_n, bytes = turn.prefix, 0, 0
    for _, account in ipairs(call('ZRANGE', P .. 'recommenders', 0, -1)) do
        local mine, went = P .. 'recommended:' .. account .. ':' .. user, 0
        while went < n and bytes < SCAN_BYTES do
            local id = call('LPOP', mine)
            if not id then break end
            went, bytes = went + 1, bytes + delete(turn, id, account, user)
        end
        if went > 0 then count(turn, account, user, -went) end
        gone_n = gone_n + went
    end
    return gone_n
end

-- Splits a stream id for is_before.
local function parts_of(id)
    local ms, n = match(id, '^(%d+)%-(%d+)$')
    return {tonumber(ms), tonumber(n), id}
end

local function is_before(x, y)
    return x[1] < y[1] or (x[1] == y[1] and x[2] < y[2])
end

return {
    REMOVED_KEPT = REMOVED_KEPT, list = list, restore = restore, drop = drop, drop_of = drop_of, remove = remove,
    judge = judge, parts_of = parts_of, is_before = is_before,
}
