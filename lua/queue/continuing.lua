-- continuing: answers of the doors whose engine was lost in the middle. An engine that continues unfinished texts names
-- its models as those of the Api `continues`, too (queue/apis.lua). While one is known for the model, the pieces of the
-- lost claim stay, and so does its number; the next such engine gets them with the request (queue/request.lua). The
-- field o:<seq> of an Open query says how many bytes they are. Any other engine begins again.
-- What cannot be continued: an answer with more than text (e:<seq>, which `partial` sets: tool calls, several choices,
-- reasoning, a choice that has ended), one without deltas, a request whose modifiers are not empty, a long text.
local idle = require('queue/idle')
local records = require('queue/records')
local waiters = require('queue/waiters')
local bounds = require('turn/bounds')
local call = redis.call
local match = string.match

local PIECES_MAX, BYTES_MAX = 8192, 1048576

local function log_of(turn, topic, seq)
    return turn.prefix .. 'partials:' .. topic .. ':' .. seq
end

-- The model as engines name it that continue.
local function mark_of(model)
    return 'continues/' .. match(model, '^[^/]*/(.*)$')
end

-- How many bytes of pieces an engine could continue; nil when none could.
local function bytes_of(turn, topic, seq)
    local got = call('HMGET', turn.prefix .. 't:' .. topic, 'e:' .. seq, 'q:' .. seq)
    bounds.note_read(turn, 0, #(got[2] or ''))
    if got[1] or not got[2] then return nil end
    local model = match(got[2], '^%d+\n%S+ %S+ (%S+/%S+) %S+\n[^\n]*\n[^\n]*\n{}\n')
    local log = log_of(turn, topic, seq)
    local last = model and call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
    local bytes = last and last[2][2] == 'd' and tonumber(match(last[1], '^%d+%-(%d+)$'))
    if not bytes or bytes > BYTES_MAX or call('XLEN', log) > PIECES_MAX then return nil end
    return idle.has_engine(turn, mark_of(model)) and bytes or nil
end

-- A claim ends without an answer. Is the query a response that is kept (queue/responses.lua), whose clients have
-- pieces, and which no engine could continue? The numbers of its events follow from the pieces, so it cannot begin
-- again.
local function is_over(turn, topic, seq)
    return call('HEXISTS', turn.prefix .. 't:' .. topic, 'i:' .. seq) == 1
        and call('EXISTS', log_of(turn, topic, seq)) == 1 and not bytes_of(turn, topic, seq)
end

-- A claim of these Seqs ends without an answer. Keeps the pieces that are to be continued, deletes the others, and
-- counts those whose claims are over.
local function return_seqs(turn, topic, seqs)
    local key, over, doors, logs = turn.prefix .. 't:' .. topic, {}, {}, {}
    if #seqs == 0 then return end
    for i = 1, #seqs do doors[i] = 'x:' .. seqs[i] end
    local of_door = call('HMGET', key, unpack(doors))
    bounds.note_read(turn, #seqs, 0)
    for i = 1, #seqs do
        local seq = seqs[i]
        local bytes = of_door[i] and bytes_of(turn, topic, seq)
        if bytes then
            call('HSET', key, 'o:' .. seq, bytes)
            call('HDEL', key, 'd:' .. seq, 'f:' .. seq)
        else
            over[#over + 1], logs[#logs + 1] = seq, log_of(turn, topic, seq)
        end
    end
    if #logs > 0 then call('DEL', unpack(logs)) end
    records.count_ended(turn, topic, over)
end

-- An engine that names `models` claims a query of a door. Returns how many bytes of pieces it continues, or nil: then
-- none are left.
local function claim(turn, topic, seq, model, models)
    local key = turn.prefix .. 't:' .. topic
    local got = call('HMGET', key, 'o:' .. seq, 'w:' .. seq)
    if not got[1] then return nil end
    call('HDEL', key, 'o:' .. seq)
    -- One that was cancelled meanwhile, and is opened again, has no log any more.
    if idle.is_listed(models, mark_of(model)) and call('EXISTS', log_of(turn, topic, seq)) == 1 then return got[1] end
    call('DEL', log_of(turn, topic, seq))
    if call('HEXISTS', key, 'i:' .. seq) == 1 then call('HSET', key, 'h:' .. seq, '1') end
    records.count_ended(turn, topic, {seq})
    waiters.notify(turn, topic, seq, got[2], 'changed\n' .. topic .. '\n' .. seq)
    return nil
end

-- The pieces that are continued, as partials has them, appended to `parts`.
local function put_pieces(turn, topic, seq, parts)
    local entries = call('XRANGE', log_of(turn, topic, seq), '-', '+', 'COUNT', PIECES_MAX)
    bounds.note_read(turn, #entries / 16, 0)
    for i = 1, #entries do
        local id, said = entries[i][1], entries[i][2]
        for _, part in ipairs({id, said[2], said[4]}) do
            parts[#parts + 1] = #part .. ':'
            parts[#parts + 1] = part
        end
    end
end

return {is_over = is_over, return_seqs = return_seqs, claim = claim, put_pieces = put_pieces}
