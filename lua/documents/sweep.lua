-- sweep: removes elements that deleted and replaced documents left in vector sets, a few per call.
-- KEYS: trash list, vectors:<space>:<digest> vector sets.
-- Wakes: nobody.
-- Bound: as many elements as its argument says.
-- Lane: first.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   limit  number  elements at most
-- Replies: how many were removed
local elements = require('documents/elements')
local format = string.format

local function verb(turn, a)
    --- arguments
    return format('%d', elements.sweep_elements(turn, limit))
end

return {sweep = verb}
