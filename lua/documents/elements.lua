-- elements: the elements of documents in vector sets. Removing all of a document's elements in one call would cost too
--   much, so the list `trash` records what to delete.
local call = redis.call
local format, match = string.format, string.match
local max = math.max

local TRASH_MAX, TRASH_N = 1000, 100

-- Takes `n` elements at most out of the vector sets. Returns how many.
local function sweep_elements(turn, n)
    local P = turn.prefix
    local left = n
    while left > 0 do
        local head = call('LINDEX', P .. 'trash', 0)
        if not head then break end
        local key, doc, generation, count = match(head, '^(%S+) (%S+) (%S+) (%d+)$')
        count = tonumber(count)
        if call('EXISTS', P .. key) == 0 then count = 0 end
        local rest = max(0, count - left)
        for chunk = count - 1, rest, -1 do
            call('VREM', P .. key, doc .. ':' .. generation .. ':' .. format('%d', chunk))
        end
        left = left - (count - rest)
        if rest == 0 then
            call('LPOP', P .. 'trash')
        else
            call('LSET', P .. 'trash', 0, key .. ' ' .. doc .. ' ' .. generation .. ' ' .. format('%d', rest))
        end
    end
    return n - left
end

-- The elements of one indexing are to go: to remove one costs too much to do all of them here.
local function trash_elements(turn, space, digest, doc, generation, n)
    if not digest or digest == '' or not n or tonumber(n) == 0 then return end
    local length = call('RPUSH', turn.prefix .. 'trash', 'vectors:' .. space .. ':' .. digest .. ' ' .. doc .. ' '
        .. generation .. ' ' .. n)
    if length > TRASH_MAX then sweep_elements(turn, TRASH_N) end -- no indexer has done so for long
end

return {sweep_elements = sweep_elements, trash_elements = trash_elements}
