-- file_begin: checks whether a file may be uploaded and creates the list for its blocks, which the node pushes before
--   it calls file_store. So a refused upload never sends its bytes to Redis.
-- Guarantees: the list expires if no file_store takes it over within five minutes.
-- KEYS: pushed:<file> list, files:<account>:<user>, stored; of expired files as file_delete.
-- Wakes: nobody.
-- Bound: one file; SWEEP_BY_UPLOAD expired ones.
-- Lane: add.  Home: owner.  Nonce: yes.  Full: refused.
-- Repeatable: yes, before any block.
-- Arguments:
--   owner    name    24 hex digits of account and user
--   account  name
--   user     name
--   file     name    a new id
--   bytes    number
--   max_stored           number?  bytes that the account may store on this shard; absent: bytes are not counted
--   max_stored_per_user  number?  of them each of its users; no limit without
-- Replies: ok | many (files) | stored/bytes/limit/account or user | replay
local uploads = require('documents/uploads')
local files = require('files/files')

local SWEEP_BY_UPLOAD = 2

local function verb(turn, a)
    --- arguments
    files.sweep(turn, SWEEP_BY_UPLOAD)
    if not files.has_room(turn, account, user) then return 'many' end
    local refused = files.refusal_of(turn, account, user, bytes, max_stored, max_stored_per_user)
    if refused then return refused end
    uploads.begin(turn, owner, file)
    return 'ok'
end

return {file_begin = verb}
