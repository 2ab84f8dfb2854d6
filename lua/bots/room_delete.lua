-- room_delete: deletes a room with its messages and deliveries, a bounded part per call. With the first call nobody
-- finds the room any more, and nodes whose clients follow it are notified. Called until it answers done; if it is not,
-- verbs that nodes call anyway continue (bots_due).
-- Stops this race: a message is stored meanwhile (missing).
-- KEYS: room:<room>, rooms:<namespace>, rooms_n, rooms_empty, rooms_going, room_messages:<room>, room_watch:<room>,
--   room_talk:<room>:<bot>, room_members:<room>, rooms_of:<user>, messages_of, names_known, room_names, room_looks,
--   names_n, stored; of its deliveries dlv:<delivery>, dlv_due, dlv_done, dlv_n, dlv_of, dlv_pull:<bot>.
-- Wakes: nodes that watch the room.
-- Bound: SCAN_MAX messages, where a long one counts as one per 16 KiB, with 10 deliveries each.
-- Lane: slow.  Home: room.  Nonce: yes.  Full: runs.  Durable: yes.
-- Repeatable: missing, once it has begun.
-- Arguments:
--   room         name
--   namespace    name
--   account      name
--   user         name  in its namespace
--   is_operator  flag  may delete each room, whichever namespace it belongs to
--   has_begun    flag  it answered more
-- Replies: more | done | replay | missing | forbidden
local removal = require('bots/room_removal')
local rooms = require('bots/rooms')
local hashes = require('turn/hashes')

local SCAN_MAX = 500

local function verb(turn, a)
    --- arguments
    if not has_begun then
        local r = hashes.fields(rooms.key_of(turn, room), 'namespace', 'account', 'user')
        if not r.namespace or not (is_operator or r.namespace == namespace) then return 'missing' end
        if not (is_operator or (r.account == account and r.user == user)) then return 'forbidden' end
        rooms.retire(turn, room)
    end
    return removal.remove(turn, room, SCAN_MAX) and 'done' or 'more'
end

return {room_delete = verb}
