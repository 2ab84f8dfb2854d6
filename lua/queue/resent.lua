-- resent: which signed adds a topic has had lately of a user, so that one that its client sends again is recognised.
-- They stand in the field u:<user> of the topic, which each add reads and writes anyway, as `<mark> <ms> <seq>;` each,
-- the newest last; <mark>: 12 hex digits made of account, nonce and body, <ms>: when.
local find, match, sub = string.find, string.match, string.sub

local RESENT_MS = 600000
local MARKS_BYTES = 512 -- past that the older half is left out: 8 adds at least stay

-- What the tie of a user is with one add more.
local function with_mark(turn, tie, mark, seq)
    if not tie or tie == '1' then return mark .. ' ' .. turn.now_text .. ' ' .. seq .. ';' end
    if #tie > MARKS_BYTES then tie = sub(tie, find(tie, ';', #tie - MARKS_BYTES / 2, true) + 1) end
    return tie .. mark .. ' ' .. turn.now_text .. ' ' .. seq .. ';'
end

-- The Seq that the add of that mark was answered with, if that was lately.
local function seq_of(turn, tie, mark)
    local at = find(tie or '', mark, 1, true)
    if not at then return nil end
    local ms, seq = match(tie, '^ (%d+) (%d+);', at + #mark)
    return ms and turn.now_ms - tonumber(ms) <= RESENT_MS and seq or nil
end

return {with_mark = with_mark, seq_of = seq_of}
