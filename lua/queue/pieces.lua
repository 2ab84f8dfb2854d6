-- pieces: the log of what an engine has said of a query so far, the stream partials:<topic>:<seq>. It has one entry per
-- piece, id "<claim>-<offset>" (what SSE clients see as event id; the offset is that of its end, in bytes of all
-- pieces), fields k ("t" think, "a" answer, "d" a delta of a door's answer: JSON on one line), x (text). Overlap with
-- what is stored is ignored, a gap refused. A new claim starts at offset 0.
local waiters = require('queue/waiters')
local call = redis.call
local gmatch, match = string.gmatch, string.match

local PARTIALS_S = 86400
local INLINE_MAX = 65536      -- nodes that wait fetch longer texts
local DELTAS_BYTES = 8388608 -- of one answer

local function key_of(turn, topic, seq)
    return turn.prefix .. 'partials:' .. topic .. ':' .. seq
end

-- How many bytes are stored of a claim's pieces, and whether there are none of any claim. Those of an earlier claim are
-- deleted.
local function begin(turn, topic, seq, claim)
    local stream = key_of(turn, topic, seq)
    local last = call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
    if not last then return 0, true end
    local of, at = match(last[1], '^(%d+)-(%d+)$')
    if tonumber(of) == claim then return tonumber(at), false end
    call('DEL', stream)
    return 0, false
end

-- Appends a piece and notifies `waiting`: with its text, or with its end only (`is_shown`: they have seen it).
local function append(turn, topic, seq, waiting, id, kind, text, is_shown)
    call('XADD', key_of(turn, topic, seq), id, 'k', kind, 'x', text)
    local shown = is_shown and '' or text
    waiters.notify(turn, topic, seq, waiting, #shown > INLINE_MAX and 'changed\n' .. topic .. '\n' .. seq
        or {'piece\n' .. topic .. '\n' .. seq .. '\n' .. id .. '\n' .. kind .. '\n', shown})
end

local function finish(turn, topic, seq)
    call('EXPIRE', key_of(turn, topic, seq), PARTIALS_S)
end

-- Appends deltas, one a line; `offset`: how many bytes of deltas precede them. Returns what refuses them, or nil, how
-- many bytes there are now, and, if these are the first of any claim, true.
local function append_deltas(turn, topic, seq, waiting, claim, offset, deltas)
    local have, is_first = begin(turn, topic, seq, claim)
    if offset > have then return 'gap\n' .. have end
    local at, had = offset, have
    for text in gmatch(deltas, '[^\n]+') do
        local stop = at + #text
        if stop > DELTAS_BYTES then return 'large' end
        if at < have and stop > have then return 'gap\n' .. have end
        if at == have then
            have = stop
            append(turn, topic, seq, waiting, claim .. '-' .. have, 'd', text, false)
        end
        at = stop
    end
    if have > had then finish(turn, topic, seq) end
    return nil, have, is_first and have > had
end

return {begin = begin, append = append, finish = finish, append_deltas = append_deltas}
