-- evaluation_read: returns a run of a user, and a page of its turns.
-- KEYS: evaluation:<id>, evaluation_turns:<id>.
-- Wakes: nobody.
-- Bound: PAGE_BYTES, but one turn at least; reads AT_ONCE turns more than it returns at most.
-- Lane: slow.  Home: evaluation.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   evaluation  name
--   run         digits
--   account     name
--   user        name
--   since       number  turns that the client has
-- Replies: missing (there is none, or it is another user's) | replay | ok/is_more (1: call again with more turns)/13
--   lines (id/status (running, done, cancelled, failed)/namespace/account/user/bot/username (JSON)/measure/turns of
--   the conversation/turns that are stored/created (ms)/updated (ms)/summary (JSON or '')), then the turns after
--   `since` (JSON), a line each
local evaluations = require('bots/evaluations')
local call = redis.call
local format = string.format
local floor, max, min = math.floor, math.max, math.min

local PAGE_BYTES, AT_ONCE = 1048576, 32

local function verb(turn, a)
    --- arguments
    local e = evaluations.read_of(turn, evaluation .. '-' .. run, account, user)
    if not e then return 'missing' end
    local key, parts, bytes, at = turn.prefix .. 'evaluation_turns:' .. e.id, {''}, 0, since
    local last, is_full, n = tonumber(e.at), false, 1
    while at < last and not is_full do
        local page = call('LRANGE', key, format('%d', at), format('%d', at + n - 1))
        if #page == 0 then break end
        for i = 1, #page do
            is_full = bytes > 0 and bytes + #page[i] > PAGE_BYTES
            if is_full then break end
            parts[#parts + 1] = '\n'
            parts[#parts + 1] = page[i]
            at, bytes = at + 1, bytes + #page[i]
        end
        -- As many as fit if they are as long as the former ones.
        n = max(1, min(AT_ONCE, 2 * n, floor((PAGE_BYTES - bytes) * (at - since) / max(1, bytes))))
    end
    parts[1] = 'ok\n' .. (is_full and '1\n' or '0\n') .. evaluations.lines(e)
    return parts
end

return {evaluation_read = verb}
