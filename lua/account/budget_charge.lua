-- budget_charge: with several shards, charges queries of doors that have ended to the budgets of their account. A node
--   reads them from the outbox of the queries' shard.
-- KEYS: running:<account>, spent:<account>.
-- Wakes: nobody.
-- Bound: one query.
-- Lane: first.  Home: account.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   account  name
--   node     name    that took the request
--   id       name    of the request
--   tokens   number
-- Replies: ok
local budgets = require('account/budgets')

local function verb(turn, a)
    --- arguments
    budgets.charge(turn, account, node .. ' ' .. id, tokens)
    return 'ok'
end

return {budget_charge = verb}
