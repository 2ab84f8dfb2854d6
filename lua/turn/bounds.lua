-- bounds: limits how much one call of a verb may read and return, whatever clients have stored. A listing verb returns
-- a page: as many items as fit, at least one, and a cursor. Other turns run between two pages. Each verb states its own
-- bound in its header; docs/redis-keys.md has them all.
local min = math.min

local REPLY_BYTES = 1048576 -- of a page; its first item may be larger alone
local SCAN_BYTES = 8388608  -- of rows that are read only to look for something in them
local READ_BYTES = 3145728  -- that a page of a list of topics reads; a command counts ROW_BYTES
local TURN_BYTES = 4194304  -- that a call replies and reads; its other verbs then run in the next one (turn/frame.lua)
local ROW_BYTES = 1024      -- that a command counts as: it takes Redis about as long as reading so many bytes
local THREAD_PAGE = 1000    -- queries of a page of a topic
local LOOKUPS_PER_TOPIC = 1000
local PART = 5000 -- items

-- Calls use(...) with the list's items as arguments, a part at a time: Lua's stack takes 8,000, and one
-- turn may end more leases than that.
local function in_parts(list, use)
    if #list <= PART then
        if #list > 0 then use(unpack(list)) end
        return
    end
    for from = 1, #list, PART do use(unpack(list, from, min(from + PART - 1, #list))) end
end

-- Notes what a verb has read, and with how many commands. Each calls it that may read more than what it returns and 256
-- KiB: tests/lua/reads.test.mjs counts.
local function note_read(turn, commands, bytes)
    turn.read_bytes = turn.read_bytes + commands * ROW_BYTES + bytes
end

return {
    REPLY_BYTES = REPLY_BYTES, SCAN_BYTES = SCAN_BYTES, READ_BYTES = READ_BYTES, TURN_BYTES = TURN_BYTES,
    ROW_BYTES = ROW_BYTES, THREAD_PAGE = THREAD_PAGE, LOOKUPS_PER_TOPIC = LOOKUPS_PER_TOPIC, in_parts = in_parts,
    note_read = note_read,
}
