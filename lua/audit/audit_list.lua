-- audit_list: returns entries of the audit log, the oldest first, for operators.
-- KEYS: audit:<class> streams.
-- Wakes: nobody.
-- Bound: `limit` entries, at most 250; as many of each class are read, of 4 KiB each.
-- Lane: slow.  Home: cluster.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   after  text? 64  cursor of the last entry seen, <ms>-<n>.<class>
--   since  number?   without a cursor: from this time on (ms)
--   limit  number
-- Replies: replay | ok/is_more, then per entry its cursor / ms / class / a number or '' / the entry (JSON)
local audit = require('audit/audit')
local bounds = require('turn/bounds')
local call = redis.call
local concat = table.concat
local format, match = string.format, string.match
local max, min = math.max, math.min

local PAGE_MAX = 250
local ENTRY_BYTES = 4096

-- The entries of a class from the cursor on. Ids of two classes may be equal: then the order is that of the classes.
local function read(turn, i, id, at, first, count)
    local key = audit.key_of(turn, audit.CLASSES[i])
    if not id then return call('XRANGE', key, first, '+', 'COUNT', count) end
    return call('XRANGE', key, i <= at and '(' .. id or id, '+', 'COUNT', count)
end

local function verb(turn, a)
    --- arguments
    local id, at = match(after, '^(%d+%-%d+)%.(%d)$')
    at = tonumber(at)
    local first = format('%d', max(since or 0, turn.now_ms - audit.AGE_MS))
    local count = max(1, min(limit, PAGE_MAX))
    local lists, next_of = {}, {}
    for i = 1, #audit.CLASSES do
        lists[i], next_of[i] = read(turn, i, id, at, first, count), 1
        bounds.note_read(turn, 0, ENTRY_BYTES * #lists[i])
    end
    local text, n = {'ok', '0'}, 0
    while true do
        local best, best_ms, best_n
        for i = 1, #lists do
            local entry = lists[i][next_of[i]]
            if entry then
                local ms, number = audit.parse_id(entry[1])
                if not best or ms < best_ms or (ms == best_ms and number < best_n) then
                    best, best_ms, best_n = i, ms, number
                end
            end
        end
        if not best then break end
        if n == count then
            text[2] = '1'
            break
        end
        local entry = lists[best][next_of[best]]
        next_of[best], n = next_of[best] + 1, n + 1
        text[#text + 1] = entry[1] .. '.' .. best
        text[#text + 1] = format('%d', best_ms)
        text[#text + 1] = audit.CLASSES[best]
        text[#text + 1] = entry[2][4]
        text[#text + 1] = entry[2][2]
    end
    return concat(text, '\n')
end

return {audit_list = verb}
