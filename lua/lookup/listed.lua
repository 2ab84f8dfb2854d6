-- listed: which lookups the queries of a topic need, in the order in which they are listed.
local call = redis.call
local match = string.match
local sort = table.sort

-- By Seq: a list of {when, fingerprint}.
local function by_seq(turn, topic)
    local lists, all = {}, call('HGETALL', turn.prefix .. 'lookups:' .. topic)
    for i = 1, #all, 2 do
        local seq, fingerprint = match(all[i], '^(%d+) (%x+)$')
        lists[seq] = lists[seq] or {}
        lists[seq][#lists[seq] + 1] = {tonumber(all[i + 1]), fingerprint}
    end
    return lists
end

-- The fingerprints of such a list, or of nil, by age.
local function sorted(list)
    list = list or {}
    sort(list, function(x, y) return x[1] < y[1] or (x[1] == y[1] and x[2] < y[2]) end)
    local fingerprints = {}
    for i = 1, #list do fingerprints[i] = list[i][2] end
    return fingerprints
end

return {by_seq = by_seq, sorted = sorted}
