-- batch_put: stores the results of lines of a batch, each once, and ends the batch with its last one.
-- Stops these races: another node has the batch by now (lost); that node has stored the line already, or this call was
--   sent again after a lost reply (the line is marked, and nothing is added).
-- KEYS: batch:<id>, batch_output:<id>, batch_errors:<id>, stored, batches_n; at the end batches_open, batches_done,
--   turn/due.lua with batches_due, and those of file_store.
-- Wakes: nobody.
-- Bound: LINES_MAX lines, and the marks of those that were stored before their turn.
-- Lane: first.  Home: owner.  Nonce: no.  Full: runs.  Durable: yes.
-- Repeatable: yes.
-- Arguments:
--   owner       name
--   batch       name
--   fence       digits
--   is_expired  flag  its time is over: it ends as expired
--   max_stored           number?  as of file_begin
--   max_stored_per_user  number?
--   each result 64:
--     line  digits    from 0
--     ends  digits    where it ends in the input
--     kind  words output|error|short  short: an error that is stored even if there is no more room
--     text  text 36m  a line of that file
-- Replies: lost | ok/status, then each line for whose result there is no room: it is not stored
local batches = require('batches/batches')
local bounds = require('turn/bounds')
local call = redis.call
local format = string.format
local concat = table.concat
local RESULT_BYTES = batches.RESULT_BYTES

local COMMANDS = 6 -- for a line

local function is_stored(b, line)
    return tonumber(line) < tonumber(b.done) or call('HEXISTS', b.key, 'd:' .. line) == 1
end

-- Adds a result. Returns false if there is no room for it.
local function add(turn, b, kind, text, most, most_of_user)
    local name = kind == 'output' and 'output' or 'errors'
    local bytes = tonumber(b[name .. '_bytes']) + #text
    if kind ~= 'short' then
        if bytes > RESULT_BYTES or (kind == 'output' and b.is_full == '1') then return false end
        if batches.count_results(turn, b, #text, most, most_of_user) then return false end
    else
        batches.count_results(turn, b, #text, most and 2 ^ 53)
    end
    call('RPUSH', batches.results_key(turn, b.id, name), text)
    b[name .. '_bytes'], b[name .. '_n'] = format('%d', bytes), format('%d', b[name .. '_n'] + 1)
    return true
end

-- Marks a line as stored.
local function mark(b, line, ends)
    if tonumber(line) ~= tonumber(b.done) then
        call('HSET', b.key, 'd:' .. line, ends)
        return
    end
    while ends do
        b.done, b.at = format('%d', b.done + 1), ends
        ends = call('HGET', b.key, 'd:' .. b.done)
        if ends then call('HDEL', b.key, 'd:' .. b.done) end
    end
end

local function verb(turn, a)
    --- arguments
    local b = batches.read_held(turn, owner .. '-' .. batch, fence)
    if not b then return 'lost' end
    local refused, completed, failed = {}, 0, 0
    for i = result_from, result_to, 4 do
        local line, ends, kind, text = args[i], args[i + 1], args[i + 2], args[i + 3]
        bounds.note_read(turn, COMMANDS, #text)
        if not is_stored(b, line) then
            if add(turn, b, kind, text, max_stored, max_stored_per_user) then
                mark(b, line, ends)
                if kind == 'output' then completed = completed + 1 else failed = failed + 1 end
            else
                if kind == 'output' then b.is_full = '1' end
                refused[#refused + 1] = '\n' .. line
            end
        end
    end
    call('HSET', b.key, 'done', b.done, 'at', b.at, 'output_n', b.output_n, 'output_bytes', b.output_bytes, 'errors_n',
         b.errors_n, 'errors_bytes', b.errors_bytes, 'counted', b.counted, 'is_full', b.is_full or '0', 'taken', 0)
    if completed > 0 then call('HINCRBY', b.key, 'completed', completed) end
    if failed > 0 then call('HINCRBY', b.key, 'failed', failed) end
    b.completed, b.failed = b.completed + completed, b.failed + failed
    batches.count_lines(turn, -completed - failed)
    if b.status == 'in_progress' and tonumber(b.done) >= tonumber(b.total) then
        batches.finish(turn, b, is_expired and 'expired' or 'completed')
    end
    return 'ok\n' .. b.status .. concat(refused)
end

return {batch_put = verb}
