-- restore_key: restores a part of a key that is copied unchanged.
-- KEYS: that key; of a workflow file wf_files; of rooms, messages, bots and evaluations what lua/bots/restore.lua says:
--   room:<room>, rooms:<namespace>, rooms_of:<user>, room_members:<room>, messages_of, stored, room_names,
--   bots:<namespace>, bots_of:<user>, bots_n, evaluation_last:<evaluation>, evaluations_of:<user>, evaluations_open,
--   evaluation_due, evaluations_done; of files files:<account>:<user>, filers:<user>, files_due;
--   of batches batches:<account>:<user>, batchers:<user>, batches_open, batches_n, batches_all, batches_done,
--   turn/due.lua with batches_due.
-- Wakes: nobody.
-- Bound: one piece: 1 MiB, or one value.
-- Lane: add.  Home: every.  Nonce: no.  Full: refused.
-- Repeatable: yes.
-- Arguments:
--   name     text 4k   without the prefix
--   of       text 16   its type
--   expires  text? 24  ms since 1970
--   each piece 4000:
--     value  bytes? 64m  as services/backup/read.lua gives them
-- Replies: ok | unknown (a type of which nothing is kept)
local batches = require('batches/batches')
local bots = require('bots/restore')
local files = require('files/files')
local recommended = require('lookup/recommended')
local workflow_files = require('workflow/files')
local call = redis.call
local match = string.match

local function restore_stream(turn, key, first, last, on_added)
    while first < last do
        local n = tonumber(turn.args[first + 1])
        local newest = call('EXISTS', key) == 1 and call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
        -- Sent again after a lost reply: an id that is there, or a lower one, is refused.
        local added = redis.pcall('XADD', key, turn.args[first], unpack(turn.args, first + 2, first + 1 + n))
        local is_added = type(added) ~= 'table'
        if not is_added and not newest then error(added.err) end
        if is_added and on_added then on_added(turn, added, unpack(turn.args, first + 2, first + 1 + n)) end
        first = first + 2 + n
    end
end

-- Hashes from which lists and counts are made.
local HASHES = {room = bots.room, bot = bots.bot, evaluation = bots.evaluation, file = files.restore,
    batch = batches.restore}

local function hook_of(name)
    if name == 'recommendations' then return recommended.restore end
    if not match(name, '^room_messages:') then return nil end
    return function (turn, id, ...) bots.message(turn, name, id, {...}) end
end

local function verb(turn, a)
    --- arguments
    local key = turn.prefix .. name
    if expires ~= '' and tonumber(expires) <= turn.now_ms then return 'ok' end
    -- Stops this race: a document is read while its job runs, the job ends, and then it is read as one of the
    -- past. Here it is the document's latest, which restore_document has queued again. A job is one piece.
    -- Bytes of a file that was created while the backup was made, or deleted.
    local file = match(name, '^file_bytes:(.*)$')
    if file and call('EXISTS', turn.prefix .. 'file:' .. file) == 0 then return 'ok' end
    if match(name, '^job:') and call('EXISTS', key) == 1 then return 'ok' end
    if of == 'string' then
        call('SET', key, args[piece_from])
    elseif of == 'hash' and match(name, '^wf_file:') then
        for i = piece_from, piece_to, 2 do
            if args[i] == 'text' then workflow_files.restore(turn, match(name, '^wf_file:(.*)'), args[i + 1]) end
        end
    elseif of == 'hash' and HASHES[match(name, '^(%a+):')] then
        local fields = {unpack(args, piece_from, piece_to)}
        if #fields > 0 then HASHES[match(name, '^(%a+):')](turn, name, fields) end
    elseif of == 'hash' then
        if piece_from <= piece_to then call('HSET', key, unpack(args, piece_from, piece_to)) end
    elseif of == 'set' then
        if piece_from <= piece_to then call('SADD', key, unpack(args, piece_from, piece_to)) end
    elseif of == 'zset' then
        for i = piece_from, piece_to, 2 do call('ZADD', key, args[i + 1], args[i]) end
    elseif of == 'list' then
        -- The first piece is the place of the next one: sent again after a lost reply, they are there.
        if call('LLEN', key) == tonumber(args[piece_from]) then
            call('RPUSH', key, unpack(args, piece_from + 1, piece_to))
        end
        if match(name, '^evaluation_turns:') then bots.cut_turns(turn, name) end
        if match(name, '^batch_%l+:') then batches.cut(turn, name) end
        if match(name, '^room_talk:') then bots.talk(turn, name) end
    elseif of == 'stream' then
        restore_stream(turn, key, piece_from, piece_to, hook_of(name))
    else
        return 'unknown'
    end
    if expires ~= '' then call('PEXPIREAT', key, expires) end
    return 'ok'
end

return {restore_key = verb}
