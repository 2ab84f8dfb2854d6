-- budget_release: a request of this node that was counted (budget_take) is no longer at work for its account, at once
--   or soon. It stays one of its minute.
-- KEYS: running:<account>.
-- Wakes: nobody.
-- Bound: one request.
-- Lane: first.  Home: account.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   account  name
--   id       name
--   is_void  flag  there is no query; otherwise nobody knows: one that is there was left, and counts until it is
--                  cancelled
-- Replies: ok
local budgets = require('account/budgets')

local function verb(turn, a)
    --- arguments
    budgets.release(turn, account, id, is_void)
    return 'ok'
end

return {budget_release = verb}
