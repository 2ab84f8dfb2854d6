-- partials: returns the state of a query and the pieces of its answer after an event id, for streams.
-- KEYS: t:<topic>, partials:<topic>:<seq> stream; queue/positions.lua.
-- Wakes: the node that shows pieces before they are stored (d:<seq>): this one shows them, too.
-- Bound: one query and PIECES_MAX pieces, ending with the one that reaches PIECES_BYTES (AT_ONCE more are read);
--   queue/positions.lua.
-- Lane: read.  Home: topic.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   topic  name
--   seq    digits
--   after  text 48  "<claim>-<offset>" of a piece, 0-0 for all
--   brief  flag     without the position, which costs a look at the queue
-- Replies: missing | number of its claim, or of the last one while there is none/<check's reply, registered as
--   waiting>, NUL, then per piece its id, kind and text, each as <length>:<bytes>.  PIECES_MAX or PIECES_BYTES of texts
--   a call: the caller asks again from the last one
local outcomes = require('queue/outcomes')
local positions = require('queue/positions')
local records = require('queue/records')
local waiters = require('queue/waiters')
local events = require('turn/events')
local parts = require('turn/parts')
local call = redis.call
local byte = string.byte

local PIECES_MAX, PIECES_BYTES = 256, 1048576
local AT_ONCE = 16 -- read with one command

local function verb(turn, a)
    --- arguments
    local P = turn.prefix
    local key = P .. 't:' .. topic
    local got = call('HMGET', key, 'q:' .. seq, 's:' .. seq, 'a:' .. seq, 'w:' .. seq, 'k:' .. seq, 'd:' .. seq)
    local row, state, waiting = got[1], got[2], got[4]
    if not row then return 'missing' end
    local first = state and byte(state)
    local claim = records.claim_number(state, got[5]) .. '\n'
    local head
    if first and first ~= 80 then
        head = outcomes.as_text(row, state, got[3], claim, '\n\n')
    else
        waiters.add(turn, topic, seq, waiting)
        if first then
            if got[6] then
                events.send(turn, got[6], 'watched\n' .. topic .. '\n' .. seq .. '\n' .. turn.node)
            end
            head = claim .. 'Pending\n' .. row .. '\n\n\n\n\n\n\n'
        else
            local position, eta = '', ''
            if not brief then
                position, eta = positions.position_of(turn, topic, seq, call('HGET', key, 'open') or '')
            end
            head = claim .. 'Open\n' .. row .. '\n\n\n\n\n\n' .. position .. '\n' .. eta
        end
    end
    local pieces = {}
    parts.put(pieces, head)
    pieces[#pieces + 1] = '\0'
    local n, bytes = 0, 0
    while n < PIECES_MAX and bytes < PIECES_BYTES do
        local entries = call('XRANGE', P .. 'partials:' .. topic .. ':' .. seq, '(' .. after, '+', 'COUNT', AT_ONCE)
        for i = 1, #entries do
            local id, said = entries[i][1], entries[i][2]
            for _, part in ipairs({id, said[2], said[4]}) do
                pieces[#pieces + 1] = #part .. ':'
                pieces[#pieces + 1] = part
            end
            n, bytes, after = n + 1, bytes + #said[4], id
            if bytes >= PIECES_BYTES then break end
        end
        if #entries < AT_ONCE then break end
    end
    return pieces
end

return {partials = verb}
