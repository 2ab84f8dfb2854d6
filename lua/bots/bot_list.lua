-- bot_list: returns a page of the bots of a namespace, newest first.
-- KEYS: bots:<namespace>, bot:<name>.
-- Wakes: nobody.
-- Bound: BOTS_PAGE bots of 6 KiB.
-- Lane: read.  Home: cluster.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   namespace  name
--   limit      number?    bots at most; BOTS_PAGE without
--   after      text? 600  cursor; from the newest on without
-- Replies: replay | ok/cursor of the next page ('' when there is none), then per bot 17 lines: its cursor, and 16 as of
--   bot_find
local registry = require('bots/registry')
local newest = require('turn/newest')
local concat = table.concat
local min = math.min

local BOTS_PAGE = 100

local function verb(turn, a)
    --- arguments
    local text = {'ok', ''}
    local most = min(limit or BOTS_PAGE, BOTS_PAGE)
    text[2] = newest.walk(turn, {'bots:' .. namespace}, after, most, function(bot, cursor)
        local b = registry.read(turn, bot)
        if b then
            text[#text + 1] = cursor
            text[#text + 1] = registry.lines(turn, b)
        end
        return true
    end)
    return concat(text, '\n')
end

return {bot_list = verb}
