-- files_of: returns a page of a person's files, or of its batches, of whichever account: for exports.
-- KEYS: filers:<user> set, files:<account>:<user>, file:<id>; of batches batchers:<user>, batches:<account>:<user>,
--   batch:<id>.
-- Wakes: nobody.
-- Bound: PAGE_MAX files or batches.
-- Lane: slow.  Home: every.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   user   name
--   what   words files|batches
--   after  text? 640  where the page begins, as a page before has said
-- Replies: ok/where the next page begins ('' when there is none), then of each its account, the owner of its id, and
--   the lines that file_store or batch_create reply | replay
local batches = require('batches/batches')
local files = require('files/files')
local bounds = require('turn/bounds')
local call = redis.call
local match = string.match
local concat, sort = table.concat, table.sort

local PAGE_MAX = 100

local function text_of(turn, what, account, user, id)
    local text
    if what == 'batches' then
        text = batches.read_of(turn, id, account, user) and batches.as_text(turn, id)
    else
        local f = files.read_of(turn, id, account, user)
        text = f and files.as_text(f)
    end
    return text and '\n' .. account .. '\n' .. match(id, '^[^-]+') .. '\n' .. text or ''
end

local function verb(turn, a)
    --- arguments
    local is_files = what == 'files'
    local accounts = call('SMEMBERS', turn.prefix .. (is_files and 'filers:' or 'batchers:') .. user)
    local from_account, from_id = match(after, '^(%S+) (%S+)$')
    local text, left = {}, PAGE_MAX
    bounds.note_read(turn, #accounts, 0)
    sort(accounts)
    for _, account in ipairs(accounts) do
        if not from_account or account >= from_account then
            local key = (is_files and files or batches).list_key(turn, account, user)
            local rank = account == from_account and call('ZRANK', key, from_id) or 0
            local ids = call('ZRANGE', key, rank, rank + left)
            for i = 1, #ids do
                if left == 0 then return 'ok\n' .. account .. ' ' .. ids[i] .. concat(text) end
                text[#text + 1], left = text_of(turn, what, account, user, ids[i]), left - 1
            end
        end
    end
    return 'ok\n' .. concat(text)
end

return {files_of = verb}
