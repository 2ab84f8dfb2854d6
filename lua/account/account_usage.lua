-- account_usage: lists the tokens that accounts have used on the last days on this shard, by day and model, and how
--   much of their budgets is used up, which the account's own shard knows.
-- KEYS: account_tokens:<account>, limit:requests:<account>, running:<account>, spent:<account>.
-- Wakes: nobody.
-- Bound: the accounts named; of each ROWS_FIELDS_MAX fields.
-- Lane: slow.  Home: every.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   days  number  today is the last
--   each account 20:
--     name  name
-- Replies: replay | ok, then of each account a line "@ <name> <requests of the last minute> <requests at a time>
--   <tokens of today>", and after it of each row a line "<day> <model> <requests> <tokens read> <tokens written>
--   <requests with an estimate>"
local budgets = require('account/budgets')
local tokens = require('users/tokens')
local format = string.format
local concat = table.concat

local function verb(turn, a)
    --- arguments
    local text = {'ok'}
    for i = account_from, account_to do
        local name = args[i]
        text[#text + 1] = format('@ %s %d %d %d', name, budgets.requests_n(turn, name), budgets.running_n(turn, name),
                                 budgets.spent_today(turn, name))
        tokens.put_rows(turn, name, days, text)
    end
    return concat(text, '\n')
end

return {account_usage = verb}
