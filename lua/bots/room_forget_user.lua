-- room_forget_user: deletes the messages of a user and the rooms that are left without messages, if it or nobody has
-- created them, and frees its name, a bounded part per call. Called until it answers done. Replies of bots stay.
-- KEYS: rooms_of:<user>, messages_of, names_known, room_names, room_looks, names_n, stored; of its rooms and their
--   deliveries as room_delete.
-- Wakes: nobody.
-- Bound: SCAN_MAX messages, where a long one counts as one per 16 KiB, with 10 deliveries each; ROOMS_MAX rooms.
-- Lane: slow.  Home: every.  Nonce: yes.  Full: runs.
-- Repeatable: yes.
-- Arguments:
--   user   name
--   after  text? 64  as the call before returned it
-- Replies: replay | more/messages that are gone/after | done/messages that are gone
local messages = require('bots/messages')
local names = require('bots/names')
local removal = require('bots/room_removal')
local rooms = require('bots/rooms')
local bounds = require('turn/bounds')
local call = redis.call
local format = string.format

local SCAN_MAX, ROOMS_MAX = 500, 100
local MEMBERS_MAX = 50 -- of a room that goes; others are left to bots_due
local COMMANDS = 3 -- for a message that is removed

local function verb(turn, a)
    --- arguments
    local P, gone, left, rooms_left = turn.prefix, 0, SCAN_MAX, ROOMS_MAX
    local key = P .. 'rooms_of:' .. user
    while left > 0 and rooms_left > 0 do
        local room = call('ZRANGE', key, 0, 0)[1]
        if not room then
            call('SREM', P .. 'names_known', user)
            names.free(turn, user)
            return 'done\n' .. format('%d', gone)
        end
        local n, scanned, next_after = messages.remove_of(turn, room, user, after, left, function(m)
            removal.drop_calls(turn, room, m)
        end)
        bounds.note_read(turn, COMMANDS * (1 + n), 0)
        gone, left, rooms_left, after = gone + n, left - scanned, rooms_left - 1, next_after
        if after == '' then
            rooms.leave(turn, user, room)
            removal.remove(turn, room, MEMBERS_MAX)
        end
    end
    return 'more\n' .. format('%d', gone) .. '\n' .. after
end

return {room_forget_user = verb}
