-- elements: the elements of documents in vector sets. Removing all of a document's elements in one call would cost too
--   much, so the list `trash` records what to delete.
local call = redis.call
local format, match, sub = string.format, string.match, string.sub
local max = math.max

local TRASH_MAX, TRASH_N = 1000, 100

-- Takes `left` elements at most of an entry of the trash out of their vector set. Returns how many it counts as, and
-- the entry as it is to be now, nil for none.
local function sweep_entry(turn, entry, left)
    local P = turn.prefix
    local key, doc, generation, count = match(entry, '^(%S+) (%S+) (%S+) (%d+)$')
    count = tonumber(count)
    if call('EXISTS', P .. key) == 0 then count = 0 end
    local rest = max(0, count - left)
    for chunk = count - 1, rest, -1 do
        call('VREM', P .. key, doc .. ':' .. generation .. ':' .. format('%d', chunk))
    end
    return count - rest, rest > 0 and key .. ' ' .. doc .. ' ' .. generation .. ' ' .. format('%d', rest) or nil
end

-- Takes `n` elements at most out of the vector sets. Returns how many.
local function sweep_elements(turn, n)
    local trash, left = turn.prefix .. 'trash', n
    while left > 0 do
        local head = call('LINDEX', trash, 0)
        if not head then break end
        local swept, rest = sweep_entry(turn, head, left)
        left = left - swept
        if rest then
            call('LSET', trash, 0, rest)
        else
            call('LPOP', trash)
        end
    end
    return n - left
end

-- The same for one space, before all others. Returns whether there is more.
local function sweep_space(turn, space)
    local trash, left, gone_n = turn.prefix .. 'trash', TRASH_N, 0
    local start = 'vectors:' .. space .. ':'
    local entries = call('LRANGE', trash, 0, -1)
    for i = 1, #entries do
        if sub(entries[i], 1, #start) == start then
            if left == 0 then return true end
            local swept, rest = sweep_entry(turn, entries[i], left)
            left = left - swept
            if rest then
                call('LSET', trash, i - 1 - gone_n, rest)
                return true
            end
            call('LREM', trash, 1, entries[i])
            gone_n = gone_n + 1
        end
    end
    return false
end

-- The elements of one indexing are to go: to remove one costs too much to do all of them here.
local function trash_elements(turn, space, digest, doc, generation, n)
    if not digest or digest == '' or not n or tonumber(n) == 0 then return end
    local length = call('RPUSH', turn.prefix .. 'trash', 'vectors:' .. space .. ':' .. digest .. ' ' .. doc .. ' '
        .. generation .. ' ' .. n)
    if length > TRASH_MAX then sweep_elements(turn, TRASH_N) end -- no indexer has done so for long
end

return {sweep_elements = sweep_elements, sweep_space = sweep_space, trash_elements = trash_elements}
