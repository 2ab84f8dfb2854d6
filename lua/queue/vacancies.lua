-- vacancies: returns how many questions of each of these accounts, users and models the queue would take now. A node
-- asks for questions that were refused, without sending them again. The room of the queue is divided between the
-- accounts that are asked for; if somebody gets less than it wants, this node is notified when there is room again.
-- Stops this race: room is made between the refusal and this call (it is seen), or after it (the event comes).
-- KEYS: meta, waiting, shares, models, vacancy_nodes set.
-- Wakes: nobody; a later verb that takes Open queries away wakes this node.
-- Bound: 100 of them.
-- Lane: read.  Home: every.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   each wait 100:
--     account      name
--     user         name
--     model        name
--     wanted       number
--     max_waiting  number?  Open queries of the user; no limit without
-- Replies: (of each for which there is room 4 lines: account/user/model/how many)
local shares = require('queue/shares')
local bounds = require('turn/bounds')
local counters = require('turn/counters')
local format = string.format
local concat = table.concat
local floor, max, min = math.floor, math.max, math.min

local HUGE = 1e15
local COLUMNS = 5  -- of a wait
local COMMANDS = 4 -- for a wait

local function verb(turn, a)
    --- arguments
    local depth = counters.load(turn).depth
    local free, accounts, account_n = shares.room(turn) - depth, {}, 0
    for i = wait_from, wait_to, COLUMNS do
        if not accounts[args[i]] then accounts[args[i]], account_n = 0, account_n + 1 end
    end
    bounds.note_read(turn, COMMANDS * (wait_to - wait_from + 1) / COLUMNS, 0)
    local part, given, text, is_short = max(1, floor(free / max(1, account_n))), {}, {}, false
    for i = wait_from, wait_to, COLUMNS do
        local account, user, model, wanted = args[i], args[i + 1], args[i + 2], tonumber(args[i + 3])
        local whose, got = account .. ' ' .. user, accounts[account]
        local n = min(wanted, free, part - got, shares.share_left(turn, account, depth) - got,
                      (tonumber(args[i + 4]) or HUGE) - shares.open_count(turn, account, user) - (given[whose] or 0))
        local is_model_taken = n > 0 and (shares.share_taken(turn, account, model, depth)
            or not shares.is_room_for(turn, model, depth))
        if is_model_taken then n = 0 end
        if n > 0 then
            text[#text + 1] = concat({account, user, model, format('%d', n)}, '\n')
            free, accounts[account], given[whose] = free - n, got + n, (given[whose] or 0) + n
        end
        is_short = is_short or n < wanted
    end
    if is_short then shares.await_vacancy(turn) end
    return concat(text, '\n')
end

return {vacancies = verb}
