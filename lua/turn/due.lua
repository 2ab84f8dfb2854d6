-- due: rows that are taken when their time has come: deliveries, evaluations, runs, lookups. Accounts take turns, then
--   the users of one account; a user's rows come by their time. So 100,000 rows of one account delay another one's row
--   by one of them, and to take a row costs the same however many are due.
--   Three levels of zsets are queues: <set> has accounts, <set>:<account> its users, <set>:<account>:<user> rows. A
--   row's score is when it is due (ms). The turn of a user, or of an account, comes when the first row below it is due,
--   but not before it was last served. It may come too early, because rows that are put off leave it as it is: it is
--   put right then.
local bounds = require('turn/bounds')
local instants = require('turn/instants')
local order = require('turn/order')
local call = redis.call
local format = string.format
local max = math.max

local TRIES_MAX = 200 -- of a call that takes
local EARLY_US = 2000 -- what is due that soon is due: turns of one call are a microsecond apart, to be in order
local COMMANDS = 10   -- for one of them, besides what is done with the row
local FEW = 20        -- tries of a call that only wants to know

-- whose: a table with its account and user.
local function keys_of(turn, set, whose)
    local accounts = turn.prefix .. set
    local users = accounts .. ':' .. whose.account
    return accounts, users, users .. ':' .. whose.user
end

-- The row is due at that time, whenever it was before. One that is due already takes no turn that is past.
local function put(turn, set, whose, row, ms)
    local accounts, users, rows = keys_of(turn, set, whose)
    local at = order.score_of(max(ms * 1000, turn.now_us))
    call('ZADD', rows, format('%d', ms), row)
    call('ZADD', users, 'LT', at, whose.user)
    call('ZADD', accounts, 'LT', at, whose.account)
end

local function drop(turn, set, whose, row)
    local accounts, users, rows = keys_of(turn, set, whose)
    call('ZREM', rows, row)
    if call('EXISTS', rows) == 1 then return end
    call('ZREM', users, whose.user)
    if call('EXISTS', users) == 0 then call('ZREM', accounts, whose.account) end
end

-- The first member of a zset whose score is not after `now` (text).
local function first_until(key, now)
    return call('ZRANGEBYSCORE', key, '-inf', now, 'LIMIT', 0, 1)[1]
end

-- Has a zset a member whose score is not after `ms`?
local function has_until(key, ms)
    return first_until(key, format('%d', ms)) ~= nil
end

-- The next turn of a member of `queue`: when the first one in the zset `below` it is due, but not before `least_us`.
local function pass_turn(queue, member, below, least_us)
    local first = call('ZRANGE', below, 0, 0, 'WITHSCORES')[2]
    if first then
        call('ZADD', queue, order.score_of(max(order.us_of(first), least_us)), member)
    else
        call('ZREM', queue, member)
    end
end

-- Whose turn it is, with the row that is due; without one when the turn came too early. nil: nobody's. longest_ms: no
-- row is put further away than that; nil: it may be.
local function peek(turn, set, longest_ms)
    local now, accounts = order.score_of(turn.now_us + EARLY_US), turn.prefix .. set
    bounds.note_read(turn, COMMANDS, 0)
    if longest_ms then instants.bring_here(turn, accounts, longest_ms) end
    local account = first_until(accounts, now)
    if not account then return nil end
    local users = accounts .. ':' .. account
    if longest_ms then instants.bring_here(turn, users, longest_ms) end
    local user = first_until(users, now)
    local rows = user and users .. ':' .. user
    if rows and longest_ms then instants.pull_in(turn, rows, longest_ms) end
    return {
        accounts = accounts, account = account, users = users, user = user, rows = rows,
        row = rows and first_until(rows, now),
    }
end

local function pass_to(at, least_us)
    if at.user then pass_turn(at.users, at.user, at.rows, least_us) end
    pass_turn(at.accounts, at.account, at.users, least_us)
end

-- at: of `peek`. Those who wait come first from now on.
local function pass(turn, at)
    turn.due_n = (turn.due_n or 0) + 1
    pass_to(at, turn.now_us + turn.due_n)
end

-- The first row that is due, as `peek` has it; nil if there is none, and nil and true after `tries` turns that came too
-- early.
local function first(turn, set, tries, longest_ms)
    for _ = 1, tries do
        local at = peek(turn, set, longest_ms)
        if not at or at.row then return at, false end
        pass_to(at, 0)
    end
    return nil, true
end

-- Calls use(row) for rows that are due, in turn, until it has returned true `most` times. It puts the row off then;
-- one for which it returns false is dropped.
local function take(turn, set, most, longest_ms, use)
    local n = 0
    for _ = 1, TRIES_MAX do
        local at = n < most and peek(turn, set, longest_ms)
        if not at then return end
        if at.row then
            if use(at.row) then n = n + 1 else call('ZREM', at.rows, at.row) end
        end
        pass(turn, at)
    end
end

-- Is there a row for `take`? Even if many turns came too early, which `take` finds out.
local function is_any(turn, set, longest_ms)
    local at, is_cut = first(turn, set, FEW, longest_ms)
    return at ~= nil or is_cut
end

return {
    TRIES_MAX = TRIES_MAX, has_until = has_until, put = put, drop = drop, first = first, pass = pass, take = take,
    is_any = is_any,
}
