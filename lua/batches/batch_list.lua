-- batch_list: returns a page of a person's batches, the newest first.
-- KEYS: batches:<account>:<user>, batch:<id>.
-- Wakes: nobody.
-- Bound: PAGE_MAX batches.
-- Lane: read.  Home: owner.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   owner    name
--   account  name
--   user     name
--   after    name?   id of the batch before the first one
--   limit    number
-- Replies: ok/is_more (1), then 20 lines of each, as batches.as_text | after (no such batch) | replay
local batches = require('batches/batches')
local call = redis.call
local concat = table.concat
local min = math.min

local PAGE_MAX = 100

local function verb(turn, a)
    --- arguments
    local key, text, from = batches.list_key(turn, account, user), {}, 0
    if after ~= '' then
        local rank = call('ZREVRANK', key, owner .. '-' .. after)
        if not rank then return 'after' end
        from = rank + 1
    end
    local most = min(limit, PAGE_MAX)
    local ids = call('ZREVRANGE', key, from, from + most)
    for i = 1, min(#ids, most) do text[i] = '\n' .. batches.as_text(turn, ids[i]) end
    return 'ok\n' .. (#ids > most and 1 or 0) .. concat(text)
end

return {batch_list = verb}
