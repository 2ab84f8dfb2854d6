-- resent: the recent signed adds of a user in a topic, to recognise a request that its client sends again. They are in
--   the topic's field u:<user>, which each add reads and writes anyway, each as `<mark> <ms> <seq>;`, newest last;
--   <mark>: 12 hex digits of account, nonce and body, <ms>: when. With several shards, the nonce's shard admits such a
--   request (queue/nonce_of_add.lua) with a `+` after its mark, and the topic decides: by its tie, and by the marks of
--   deleted ties in `left:<digest>`.
local call = redis.call
local byte, find, match, sub = string.byte, string.find, string.match, string.sub

local RESENT_MS = 600000
local LET_THROUGH_MS = RESENT_MS + 60000 -- by the nonce's shard, which knows minutes (queue/nonce_marks.lua)
local MARKS_BYTES = 512 -- past that the older half is left out: 8 adds at least stay
local FULL_BYTES = 200  -- a tie from which marks may have been left out is longer
local LEFT_BYTES = 1024

-- Returns the tie of a user with one add more.
local function with_mark(turn, tie, mark, seq)
    if not tie or tie == '1' then return mark .. ' ' .. turn.now_text .. ' ' .. seq .. ';' end
    if #tie > MARKS_BYTES then tie = sub(tie, find(tie, ';', #tie - MARKS_BYTES / 2, true) + 1) end
    return tie .. mark .. ' ' .. turn.now_text .. ' ' .. seq .. ';'
end

-- The Seq that the add of that mark was answered with, if that was recently.
local function seq_of(turn, tie, mark)
    local at = find(tie or '', mark, 1, true)
    if not at then return nil end
    local ms, seq = match(tie, '^ (%d+) (%d+);', at + #mark)
    return ms and turn.now_ms - tonumber(ms) <= RESENT_MS and seq or nil
end

-- By a digest: no name of a deleted topic stays.
local function left_key(turn, topic, user)
    return turn.prefix .. 'left:' .. redis.sha1hex(user .. ' ' .. topic)
end

-- Returns, with several shards, the mark without its `+`, and whether its nonce was used before.
local function parse_mark(mark)
    if byte(mark, -1) ~= 43 then return mark, false end
    return sub(mark, 1, -2), true
end

-- With several shards: its nonce was used before, and the tie does not hold its mark as a recent one. Has it possibly
-- run all the same? Marks are left out of a tie by many others, and are deleted with it.
local function may_have_run(turn, topic, user, tie, mark)
    if tie and find(tie, mark, 1, true) then return true end
    if tie and #tie > FULL_BYTES and turn.now_ms - tonumber(match(tie, '^%x+ (%d+)')) <= LET_THROUGH_MS then
        return true
    end
    local left = call('GET', left_key(turn, topic, user))
    return left and find(left, mark, 1, true) ~= nil
end

-- Keeps, with several shards, the marks of a tie that is deleted: their requests may still be sent again.
local function keep_marks(turn, topic, user, tie)
    if tie == '1' then return end
    local key = left_key(turn, topic, user)
    call('SET', key, sub((call('GET', key) or '') .. tie, -LEFT_BYTES), 'PX', LET_THROUGH_MS)
end

-- Returns the answer to an idempotency key ("<account>:<key>") here; nil when it was not used.
local function answer_to_key(turn, key, digest)
    local earlier = call('GET', turn.prefix .. 'idem:' .. key)
    if not earlier then return nil end
    local with, seq, ms = match(earlier, '^(%x+) ok\n(%d+)\n(%d+)$')
    if with == digest then return 'again\n' .. seq .. '\n' .. ms, seq end
    if match(earlier, '^%x+') == digest then return nil end -- of another route (turn/made.lua)
    return 'mismatch'
end

return {
    RESENT_MS = RESENT_MS, parse_mark = parse_mark, may_have_run = may_have_run, keep_marks = keep_marks,
    answer_to_key = answer_to_key, with_mark = with_mark, seq_of = seq_of,
}
