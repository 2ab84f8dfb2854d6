-- budget_take: counts a request of a door against the budgets of its account, before its query is added (door_ask). A
--   request that one of them refuses is counted in none.
-- Stops this race: requests on several nodes take the last place together.
-- KEYS: limit:requests:<account>, running:<account>, spent:<account>, nodes.
-- Wakes: nobody.
-- Bound: one account; SWEEP_MAX requests that it has at a time.
-- Lane: add.  Home: account.  Nonce: yes.  Full: refused.
-- Repeatable: no, it counts one more request.
-- Arguments:
--   account   name
--   id        name     of the request, a new one
--   requests  number?  a minute
--   tokens    number?  a day
--   running   number?  at a time
-- Replies: ok/how many requests are left/ms until all are/how many tokens are left/ms until all are
--   | requests/the same/for how many ms that budget refuses at least | tokens/the same | running/the same | replay
local budgets = require('account/budgets')
local format = string.format
local concat = table.concat
local max = math.max

local function verb(turn, a)
    --- arguments
    local refused, wait_ms = budgets.take(turn, account, id, requests, tokens, running)
    local left, left_ms, tokens_left = 0, 0, 0
    if requests then left, left_ms = budgets.requests_left(turn, account, requests) end
    if tokens then tokens_left = max(0, tokens - budgets.spent_today(turn, account)) end
    return concat({
        refused or 'ok', format('%d', left), format('%d', left_ms), format('%d', tokens_left),
        format('%d', budgets.DAY_MS - turn.now_ms % budgets.DAY_MS), format('%d', wait_ms),
    }, '\n')
end

return {budget_take = verb}
