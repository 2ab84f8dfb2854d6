-- file_list: returns a page of a person's files.
-- KEYS: files:<account>:<user>, file:<file>.
-- Wakes: nobody.
-- Bound: PAGE_MAX files; SCAN_MAX of other purposes.
-- Lane: read.  Home: owner.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   owner    name
--   account  name
--   user     name
--   after    name?   id of the file before the first one
--   is_back  flag    the newest first
--   limit    number
--   purpose  name?   only of this one
-- Replies: ok/is_more (1)/next (a file up to which it has looked, '' at the end), then 6 lines of each, as file_store
--   | after (no such file) | replay
local files = require('files/files')
local call = redis.call
local concat = table.concat
local min = math.min

local PAGE_MAX, SCAN_MAX = 500, 1000

local function verb(turn, a)
    --- arguments
    local key, text, n, looked, from = files.list_key(turn, account, user), {}, 0, 0, 0
    if after ~= '' then
        local rank = call(is_back and 'ZREVRANK' or 'ZRANK', key, owner .. '-' .. after)
        if not rank then return 'after' end
        from = rank + 1
    end
    local most = min(limit, PAGE_MAX)
    local ids = call(is_back and 'ZREVRANGE' or 'ZRANGE', key, from, from + SCAN_MAX)
    local last, is_more = nil, false
    for i = 1, #ids do
        local f = files.read_of(turn, ids[i], account, user)
        local is_wanted = f and (purpose == '' or f.purpose == purpose)
        if looked == SCAN_MAX or (is_wanted and n == most) then
            is_more = true
            break
        end
        looked, last = looked + 1, ids[i]
        if is_wanted then
            n = n + 1
            text[n] = '\n' .. files.as_text(f)
        end
    end
    return 'ok\n' .. (is_more and 1 or 0) .. '\n' .. (last and files.short_of(last) or '') .. concat(text)
end

return {file_list = verb}
