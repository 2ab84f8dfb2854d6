-- files: the workflow files that runs began with, one hash wf_file:<version> each (text, and how many unfinished runs
-- use it), and the zset wf_files (version -> last used, ms).
local call = redis.call
local format = string.format

local UNUSED_MS = 30 * 86400000
local SWEEP_MAX = 10

local function key_of(turn, version)
    return turn.prefix .. 'wf_file:' .. version
end

local function touch(turn, version)
    call('ZADD', turn.prefix .. 'wf_files', turn.now_text, version)
end

-- Is that version known, or made known by this text?
local function has(turn, version, text)
    local key = key_of(turn, version)
    if call('HEXISTS', key, 'text') == 1 then return true end
    if text == '' then return false end
    call('HSET', key, 'text', text)
    call('HSETNX', key, 'runs', 0)
    touch(turn, version)
    return true
end

-- The text of a file that a backup brings. Its runs were counted when they came.
local function restore(turn, version, text)
    local key = key_of(turn, version)
    call('HSET', key, 'text', text)
    call('HSETNX', key, 'runs', 0)
    touch(turn, version)
end

-- One more unfinished run has that version, or one less.
local function hold(turn, version)
    call('HINCRBY', key_of(turn, version), 'runs', 1)
    touch(turn, version)
end

local function let_go(turn, version)
    local key = key_of(turn, version)
    if call('EXISTS', key) == 1 then call('HINCRBY', key, 'runs', -1) end
end

-- Deletes versions that nobody has used for 30 days, except those of runs that still wait.
local function sweep(turn)
    local all, before = turn.prefix .. 'wf_files', format('%d', turn.now_ms - UNUSED_MS)
    for _, version in ipairs(call('ZRANGEBYSCORE', all, '-inf', before, 'LIMIT', 0, SWEEP_MAX)) do
        local key = key_of(turn, version)
        if tonumber(call('HGET', key, 'runs') or 0) > 0 then
            touch(turn, version)
        else
            call('UNLINK', key)
            call('ZREM', all, version)
        end
    end
end

return {UNUSED_MS = UNUSED_MS, has = has, restore = restore, hold = hold, let_go = let_go, sweep = sweep}
