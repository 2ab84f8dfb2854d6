-- newest: limits a hash whose fields are named by engines (their own names, or models); each value begins with the ms
--   when it was last seen. Fields not seen for a day are deleted, then the oldest. If there are too many, those of an
--   account with more than half of them are deleted first, so that no account displaces others.
local bounds = require('turn/bounds')
local call = redis.call
local match = string.match
local sort = table.sort

local KEPT_MS, KEPT_MAX = 86400000, 1000

-- account_of(field, value): whose it is.
local function keep(turn, hash, account_of)
    local key = turn.prefix .. hash
    local all, kept, of_account = call('HGETALL', key), {}, {}
    bounds.note_read(turn, #all / 4, 0)
    for i = 1, #all, 2 do
        local one = {at = tonumber(match(all[i + 1], '^%d+')), name = all[i], account = account_of(all[i], all[i + 1])}
        if one.at > turn.now_ms - KEPT_MS then
            kept[#kept + 1] = one
            of_account[one.account] = (of_account[one.account] or 0) + 1
        else
            bounds.note_read(turn, 1, 0)
            call('HDEL', key, one.name)
        end
    end
    local over = #kept - KEPT_MAX
    if over <= 0 then return end
    sort(kept, function(x, y) return x.at < y.at or (x.at == y.at and x.name > y.name) end)
    for _, at_most in ipairs({KEPT_MAX / 2, 0}) do
        for i = 1, #kept do
            local one = kept[i]
            if over > 0 and not one.is_gone and of_account[one.account] > at_most then
                bounds.note_read(turn, 1, 0)
                call('HDEL', key, one.name)
                one.is_gone, over, of_account[one.account] = true, over - 1, of_account[one.account] - 1
            end
        end
    end
end

return {keep = keep}
