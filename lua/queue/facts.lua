-- facts: merges and shows the JSON members FinishReason and Usage that engines send with an answer: without braces, in
-- that order, either or both. Those of partial answers are in the topic's field f:<seq> while the query is Pending.
local find, sub = string.find, string.sub

-- In a JSON string there is no quote without a backslash, so the key of Usage is found at its own place only.
local function split(facts)
    local at = find(facts, '"Usage":{', 1, true)
    if not at then return facts, '' end
    return sub(facts, 1, at > 1 and at - 2 or 0), sub(facts, at)
end

-- Returns the members of `later`, and from `before` (may be nil) those that it has not.
local function merge(before, later)
    if not before or before == '' then return later end
    local finish, usage = split(before)
    local new_finish, new_usage = split(later)
    if new_finish ~= '' then finish = new_finish end
    if new_usage ~= '' then usage = new_usage end
    return finish .. (finish ~= '' and usage ~= '' and ',' or '') .. usage
end

-- The last line of an outcome as text (queue/outcomes.lua) without an answer.
local function as_line(facts)
    return facts and ' ' .. facts or ''
end

return {merge = merge, as_line = as_line}
