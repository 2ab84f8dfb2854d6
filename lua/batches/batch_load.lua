-- batch_load: returns what a node needs to carry on a batch that it holds.
-- KEYS: batch:<id>.
-- Wakes: nobody.
-- Bound: one batch: its marks are bounded by how far ahead a node sends lines.
-- Lane: slow.  Home: owner.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   owner  name
--   batch  name
--   fence  digits
-- Replies: lost | ok/status/endpoint/input/ms until it expires (0: it has)/total/done/at/is_full (1), then each line
--   that is stored after `done`
local batches = require('batches/batches')
local bounds = require('turn/bounds')
local call = redis.call
local format, match = string.format, string.match
local concat = table.concat
local max = math.max

local FIELD_BYTES = 24

local function verb(turn, a)
    --- arguments
    local b = batches.read_held(turn, owner .. '-' .. batch, fence)
    if not b then return 'lost' end
    local lines = {
        'ok', b.status, call('HGET', b.key, 'endpoint'), b.input, format('%d', max(0, b.expires - turn.now_ms)),
        b.total, b.done, b.at, b.is_full or '0',
    }
    local fields = call('HKEYS', b.key)
    bounds.note_read(turn, 1, #fields * FIELD_BYTES)
    for i = 1, #fields do
        local line = match(fields[i], '^d:(%d+)$')
        if line then lines[#lines + 1] = line end
    end
    return concat(lines, '\n')
end

return {batch_load = verb}
