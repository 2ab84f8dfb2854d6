-- batch_list_all: returns a page of the batches of this shard, the newest first, for operators: no texts of clients but
-- names.
-- KEYS: batches_all zset, batch:<id>.
-- Wakes: nobody.
-- Bound: PAGE_MAX batches; SCAN_MAX are looked at.
-- Lane: slow.  Home: every.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   account  name?      of this one only
--   user     name?      of this one only
--   status   text? 16   in this state only
--   after    text? 80   cursor: <ms> <owner>-<batch> of the last one seen
--   limit    number
-- Replies: replay | ok/cursor up to which the list was looked at ('' at the end), then per batch ms/<owner>-<batch>/
--   account/user/status/endpoint/in progress since/expires/ended (times in ms, '' if not yet)/total/completed/failed.
--   A page may have fewer than asked for, or none, and still have a next one
local bounds = require('turn/bounds')
local call = redis.call
local format, match = string.format, string.match
local concat = table.concat
local min = math.min

local PAGE_MAX, SCAN_MAX = 101, 1000
local COMMANDS = 2 -- as which one counts that was looked at
local FIELDS = {'account', 'user', 'status', 'endpoint', 'in_progress', 'expires', 'finalizing', 'total', 'completed',
    'failed'}
local STATUS = 3

-- Returns ids and scores, the newest first, and where those after the cursor begin. Those of one ms are in the order
-- of their ids.
local function read(turn, after)
    local ms, id = match(after, '^(%d+) (%S+)$')
    local found = call('ZREVRANGEBYSCORE', turn.prefix .. 'batches_all', ms or '+inf', '-inf', 'WITHSCORES', 'LIMIT', 0,
                       SCAN_MAX)
    local at = 1
    while ms and found[at] and format('%d', found[at + 1]) == ms and found[at] >= id do at = at + 2 end
    return found, at
end

local function verb(turn, a)
    --- arguments
    local found, from = read(turn, after)
    local text, n, most = {'ok', ''}, 0, min(limit, PAGE_MAX)
    for i = from, #found, 2 do
        if n == most then break end
        local id, ms = found[i], format('%d', found[i + 1])
        local got = call('HMGET', turn.prefix .. 'batch:' .. id, unpack(FIELDS))
        text[2] = ms .. ' ' .. id
        if got[1] and (account == '' or got[1] == account) and (user == '' or got[2] == user)
            and (status == '' or got[STATUS] == status) then
            n = n + 1
            for k = 1, #FIELDS do got[k] = got[k] or '' end
            text[#text + 1] = ms .. '\n' .. id .. '\n' .. concat(got, '\n')
        end
    end
    bounds.note_read(turn, COMMANDS * #found / 2, 0)
    if n < most and #found < 2 * SCAN_MAX then text[2] = '' end
    return concat(text, '\n')
end

return {batch_list_all = verb}
