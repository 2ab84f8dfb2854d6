-- list_lookups: the lookups of a topic with their matches, by ascending Seq and age, of its THREAD_MAX
-- newest queries.
-- KEYS: t:<topic>, lookups:<topic>, lookup:<fingerprint>.  ARGV: nonce, topic, user (name; '' for any).
-- Returns: missing | replay | ok/<last Seq>, then per query with lookups in ascending Seq: its Seq /
--   query (JSON) / n, and n times fingerprint / fragment (JSON) / matches (JSON, '' while there are none).
-- Wakes: nobody.  Repeatable: yes.
verbs.list_lookups = function(a)
    if is_replayed(args[a]) then return 'replay' end
    local topic, user = args[a + 1], args[a + 2]
    local key = P .. 't:' .. topic
    local got = call('HMGET', key, 'seq', 'u:' .. user)
    if not got[1] or (user ~= '' and not got[2]) then return 'missing' end
    local by_seq, all = {}, call('HGETALL', P .. 'lookups:' .. topic)
    for i = 1, #all, 2 do
        local seq, fingerprint = match(all[i], '^(%d+) (%x+)$')
        by_seq[seq] = by_seq[seq] or {}
        by_seq[seq][#by_seq[seq] + 1] = {tonumber(all[i + 1]), fingerprint}
    end
    local text = {'ok', got[1]}
    local last, rows, from = tonumber(got[1]), {}, 0
    for n = max(1, last - THREAD_MAX + 1), last do
        if n >= from + #rows then
            local fields = {}
            for ahead = n, min(n + CHUNK - 1, last) do fields[#fields + 1] = 'q:' .. ahead end
            rows, from = call('HMGET', key, unpack(fields)), n
        end
        local seq, row = format('%d', n), rows[n - from + 1]
        local list = by_seq[seq] or {}
        sort(list, function(x, y)
            return x[1] < y[1] or (x[1] == y[1] and x[2] < y[2])
        end)
        text[#text + 1] = seq
        text[#text + 1] = match(row, '([^\n]*)$')
        text[#text + 1] = #list
        for _, item in ipairs(list) do
            local found = call('HMGET', P .. 'lookup:' .. item[2], 'fragment', 'matches')
            text[#text + 1] = item[2]
            text[#text + 1] = found[1] or '""'
            text[#text + 1] = found[2] or ''
        end
    end
    return concat(text, '\n')
end
