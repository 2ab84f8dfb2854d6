-- places: the place of a query in its topic, which a later one may take (Modifiers.Replaces). Threads and History show
--   the newest query of a place where its first one was. Fields of the topic, from its first replacement on:
--   places    1
--   p:<seq>   the place of a query that replaced another one: the Seq of the first query there
--   n:<seq>   the newest query of that place
local records = require('queue/records')
local bounds = require('turn/bounds')
local call = redis.call

-- The place of the user's query with that Seq; nil if the user has no such query there.
local function place_of(turn, key, user, seq)
    local got = call('HMGET', key, 'q:' .. seq, 'p:' .. seq)
    local row = got[1]
    if not row then return nil end
    bounds.note_read(turn, 1, #row)
    return records.user_of(row) == user and (got[2] or seq) or nil
end

-- Appends to a list of fields and values those of a query that takes that place.
local function put_fields(fields, place, seq)
    local n = #fields
    fields[n + 1], fields[n + 2], fields[n + 3], fields[n + 4] = 'places', '1', 'p:' .. seq, place
    fields[n + 5], fields[n + 6] = 'n:' .. place, seq
end

-- The Seq that each of these Seqs shows, in their order; false for one that is shown in the place of another.
local function shown_at(key, seqs)
    local names, shown = {}, {}
    for i = 1, #seqs do names[2 * i - 1], names[2 * i] = 'p:' .. seqs[i], 'n:' .. seqs[i] end
    local got = call('HMGET', key, unpack(names))
    for i = 1, #seqs do shown[i] = not got[2 * i - 1] and (got[2 * i] or seqs[i]) end
    return shown
end

return {place_of = place_of, put_fields = put_fields, shown_at = shown_at}
