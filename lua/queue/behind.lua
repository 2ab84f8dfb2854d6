-- behind: the queries that nobody waits for: the lines of batches. They take turns behind all others: a claim takes one
-- only if no other query is Open that its engine takes. In rows, counts and turns, the user of such a query has a mark
-- that no name has, so what waits there counts neither towards that user's limit of waiting queries nor moves its turn.
-- In turns:<model>, its virtual time is that much later.
local byte, sub = string.byte, string.sub

local MARK = 43 -- `+`, the last byte of such a user
local LATER = 2 ^ 36 -- a double keeps four decimals of it, and no virtual time ever gets so far

-- How much later its turns are.
local function later(user)
    return byte(user, -1) == MARK and LATER or 0
end

-- The user without the mark: who it is.
local function person_of(user)
    return byte(user, -1) == MARK and sub(user, 1, -2) or user
end

return {later = later, person_of = person_of}
