-- show_pieces: sends pieces of unfinished answers, which are not stored yet, to the nodes that show them.
-- KEYS: none.
-- Wakes: the nodes named.
-- Bound: the pieces named.
-- Lane: read.  Home: every.  Nonce: no.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   each piece 100:
--     node   name
--     event  text 70k
-- Replies: ok
local bounds = require('turn/bounds')
local events = require('turn/events')

local function verb(turn, a)
    --- arguments
    for i = piece_from, piece_to, 2 do
        bounds.note_read(turn, 0, #args[i + 1])
        events.send(turn, args[i], args[i + 1])
    end
    return 'ok'
end

return {show_pieces = verb}
