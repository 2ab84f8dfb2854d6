-- batch_create: creates a batch of the lines of a file. Some node takes it within a second or two (batch_take).
-- KEYS: batch:<id>, batches:<account>:<user>, batchers:<user>, batches_all, batches_open, batches_n, turn/due.lua with
--   batches_due, file:<id>; of the oldest batch, if there are too many, all of it.
-- Wakes: nobody.
-- Bound: one batch; OPEN_MAX are looked at.
-- Lane: add.  Home: owner.  Nonce: yes.  Full: refused.  Durable: yes.
-- Repeatable: creates another one.
-- Arguments:
--   owner     name      24 hex digits of account and user
--   account   name
--   user      name
--   batch     name      a new id
--   input     name      a file of theirs
--   endpoint  text 64
--   metadata  json 64k  an object
--   window_s  number    after which it expires
--   kept_s    number    how long the files of its results are kept
-- Replies: ok, then 20 lines as batches.as_text | missing (the file) | purpose (it has another one)
--   | open/limit (so many have not ended) | many (are kept, and none of the oldest ones has ended) | replay
local batches = require('batches/batches')
local files = require('files/files')
local leased = require('turn/leased')
local order = require('turn/order')
local call = redis.call
local format = string.format

local function verb(turn, a)
    --- arguments
    local f = files.read_of(turn, owner .. '-' .. input, account, user)
    if not f then return 'missing' end
    if f.purpose ~= 'batch' then return 'purpose' end
    local whose, id = account .. ' ' .. user, owner .. '-' .. batch
    if batches.open_n(turn, whose) >= batches.OPEN_MAX then return 'open\n' .. batches.OPEN_MAX end
    if not batches.make_room(turn, account, user) then return 'many' end
    local b = {id = id, key = turn.prefix .. 'batch:' .. id, account = account, user = user,
        created = turn.now_text}
    local place = order.next(turn, batches.list_key(turn, account, user))
    call('HSET', b.key, 'account', account, 'user', user, 'status', 'validating', 'endpoint', endpoint, 'input', input,
         'metadata', metadata, 'created', turn.now_text, 'expires', format('%d', turn.now_ms + window_s * 1000),
         'place', place, 'total', 0, 'completed', 0, 'failed', 0, 'done', 0, 'at', 0, 'output_n', 0, 'output_bytes', 0,
         'errors_n', 0, 'errors_bytes', 0, 'counted', 0, 'taken', 0, 'kept', kept_s)
    batches.list_batch(turn, b, place)
    batches.count_open(turn, whose, 1)
    leased.put(turn, batches.KIND, b, turn.now_ms)
    return 'ok\n' .. batches.as_text(turn, id)
end

return {batch_create = verb}
