-- open_list: the Open queries of a topic, as text in its field `open`: "<seq> <attempts> <model> <user> <account>
-- <weight>;", one after another by Seq. Clients may add up to TOPIC_OPEN_MAX, but claimed queries may come back too, so
-- there may be many times more. A verb that works on some of them must not read all the others.
local find, match, sub = string.find, string.match, string.sub
local floor, min = math.floor, math.min

local function item(seq, attempts, model, user, account, weight)
    return seq .. ' ' .. attempts .. ' ' .. model .. ' ' .. user .. ' ' .. account .. ' '
        .. weight .. ';'
end

-- The item that begins at byte `at`: where it ends, and its six parts; nil at the end.
local function item_at(open, at)
    local _, last, seq, attempts, model, user, account, weight =
        find(open, '^(%d+) (%d+) (%S+) (%S+) (%S+) ([^; ]+);', at)
    return last, seq, attempts, model, user, account, weight
end

-- Where the first item begins whose Seq is larger than `seq` (a number), from the one that begins at `from` on; after
-- the end if there is none. It halves the bytes.
local function place_after(open, seq, from)
    local low, high, found = from, #open + 1, #open + 1
    if from > #open or tonumber(match(open, '^%d+', from)) > seq then return from end
    while low < high do -- the item at `low` is not larger, what begins at `found` is, and nothing between `high` and it
        local middle = floor((low + high) / 2)
        local at = find(open, ';', middle, true) + 1
        if at < found and tonumber(match(open, '^%d+', at)) <= seq then
            low = at
        else
            high, found = middle, min(found, at)
        end
    end
    return found
end

local function has_more(open, model, user)
    local name, at = ' ' .. model .. ' ' .. user .. ' ', 1
    while true do
        local first, last = find(open, name, at, true)
        if not first then return false end
        if find(open, '^[^; ]+ [^; ]+;', last + 1) then return true end -- else other parts are called so
        at = last
    end
end

-- Takes the query out of `open`. Returns the rest, its model, user and account, and whether that user has more
-- there for that model; or nil when it is not there.
local function without(open, seq)
    local at = place_after(open, tonumber(seq) - 1, 1)
    local last, its_seq, _, model, user, account = item_at(open, at)
    if its_seq ~= seq then return nil end
    local rest = sub(open, 1, at - 1) .. sub(open, last + 1)
    return rest, model, user, account, has_more(rest, model, user)
end

-- How many items end before byte `till`, `most` at most.
local function count(open, till, most)
    local n, at = 0, find(open, ';', 1, true)
    while at and at < till and n < most do
        n, at = n + 1, find(open, ';', at + 1, true)
    end
    return n
end

return {item = item, item_at = item_at, place_after = place_after, without = without, count = count}
