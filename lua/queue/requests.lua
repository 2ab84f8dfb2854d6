-- requests: the client's request beside the row of a query of a door (queue/apis.lua): r:<seq>, a JSON string. Only
-- claims read it; lists, texts and outcomes do not. A claim's text ends with it, or if it is long with its size: the
-- node then reads it in a call of its own (queue/request.lua), so that no message of the bus is long. So it does with
-- the pieces of an answer that the engine continues: the line then has their bytes as well.
local hashes = require('turn/hashes')
local bounds = require('turn/bounds')
local call = redis.call
local format = string.format

local INLINE_MAX = 65536

-- The line of a claim.
local function line_of(request)
    return '\n' .. (#request > INLINE_MAX and format('%d', #request) or request)
end

-- `offset`: of an answer that is continued.
local function line_of_stored(turn, key, seq, offset)
    local bytes = hashes.bytes_of(key, 'r:' .. seq)
    if offset then return '\n' .. format('%d', bytes) .. ' ' .. offset end
    if bytes > INLINE_MAX then return '\n' .. format('%d', bytes) end
    bounds.note_read(turn, 1, bytes)
    return '\n' .. (call('HGET', key, 'r:' .. seq) or '""')
end

return {line_of = line_of, line_of_stored = line_of_stored}
