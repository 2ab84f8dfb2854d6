-- front: returns the numbers that GET / shows without an account: no names, no texts.
-- KEYS: meta, idle, leases.
-- Wakes: nobody.
-- Bound: counts the polls of the CLASSES_MAX credits with the most polls, and ignores the others.
-- Lane: read.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments: none.
-- Replies: ok/depth/parked polls/claims under a lease
local bounds = require('turn/bounds')
local counters = require('turn/counters')
local call = redis.call
local format = string.format
local concat = table.concat
local floor, max = math.floor, math.max

local CLASSES_MAX = 1000

local function verb(turn)
    local P = turn.prefix
    local parked = 0
    local credits = call('ZREVRANGE', P .. 'idle', 0, CLASSES_MAX - 1, 'WITHSCORES')
    bounds.note_read(turn, #credits / 10, 0)
    for i = 2, #credits, 2 do parked = parked + floor(credits[i]) end
    local depth = max(counters.load(turn).depth, 0)
    return concat({'ok', format('%d', depth), format('%d', parked), format('%d', call('ZCARD', P .. 'leases'))}, '\n')
end

return {front = verb}
