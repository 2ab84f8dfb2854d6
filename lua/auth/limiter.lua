-- limiter: cluster-wide rate limits with an exact sliding window. The zset limit:<what>:<who> holds each admitted
--   request by its time (microseconds). Each call drops requests older than its longest window, and refused requests
--   are not recorded, so a zset holds no more than that window admits. It expires with its last request.
-- Requests of the future, because Redis's clock went back, count as requests of now: for one window at most.
-- Limits as text: "<what>:<who>:<n>:<window s>,…": n requests in any window of that many seconds. Two limits of the
-- same <what>:<who> count the same requests.
local call = redis.call
local format, gmatch, match = string.format, string.gmatch, string.match
local ceil, max = math.ceil, math.max

local LIMITS_MAX = 8

local function parse_limits(turn, text)
    local limits, longest_us = {}, {}
    for item in gmatch(text, '[^,]+') do
        local what, who, n, window_s = match(item, '^([%w_]+):([^:%s]+):(%d+):(%d+)$')
        if not what or #limits == LIMITS_MAX then error('limits: ' .. text) end
        local limit = {key = turn.prefix .. 'limit:' .. what .. ':' .. who, n = tonumber(n), window_s = window_s}
        limit.window_us = tonumber(window_s) * 1000000
        limits[#limits + 1] = limit
        longest_us[limit.key] = max(longest_us[limit.key] or 0, limit.window_us)
    end
    return limits, longest_us
end

-- The beginning of a limit's window, which does not belong to it any more.
local function window_start(turn, limit)
    return format('(%.0f', turn.now_us - limit.window_us)
end

-- How many microseconds until this limit admits one more; nil when it does now. What is older than the
-- window has been dropped, up to the longest window of the key.
local function wait_us(turn, limit)
    local key = limit.key
    limit.used = call('ZCOUNT', key, window_start(turn, limit), '+inf')
    if limit.used < limit.n then return nil end
    if limit.n == 0 then return limit.window_us end
    local at = call('ZRANGE', key, -limit.n, -limit.n, 'WITHSCORES')[2]
    return tonumber(at) + limit.window_us - turn.now_us
end

-- Returns what is left after a request was counted, of the limit that has least left: "<n> <left> <ms>", the time until
-- its oldest request leaves the window, and one more is left.
local function left(turn, limits)
    local least
    for i = 1, #limits do
        local limit = limits[i]
        if not least or limit.n - limit.used < least.n - least.used then least = limit end
    end
    if not least then return '' end
    local oldest = call('ZRANGEBYSCORE', least.key, window_start(turn, least), '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
    local reset_us = tonumber(oldest) + least.window_us - turn.now_us
    return format('%d %d %d', least.n, least.n - least.used - 1, ceil(reset_us / 1000))
end

-- Deletes what has left the window.
local function forget_old(turn, key, longest_us)
    call('ZREMRANGEBYSCORE', key, '-inf', format('%.0f', turn.now_us - longest_us))
    local now_us = format('%.0f', turn.now_us)
    for _, request in ipairs(call('ZRANGEBYSCORE', key, '(' .. now_us, '+inf')) do
        call('ZADD', key, 'XX', now_us, request)
    end
end

-- Counts one request and returns nil and what is left ('' without limits), or returns what refuses it: the limit that
-- takes longest. All limits are checked before any is counted: what one refuses uses up nothing of another.
local function admit(turn, text)
    local limits, longest_us = parse_limits(turn, text)
    local refused_us, by
    for key, us in pairs(longest_us) do forget_old(turn, key, us) end
    for i = 1, #limits do
        local us = wait_us(turn, limits[i])
        if us and (not refused_us or us > refused_us) then refused_us, by = us, limits[i] end
    end
    if by then
        return 'limited\n' .. format('%d', ceil(refused_us / 1000)) .. '\n' .. format('%d', by.n) .. '\n' .. by.window_s
    end
    for key, us in pairs(longest_us) do
        turn.limit_n = (turn.limit_n or 0) + 1
        call('ZADD', key, format('%.0f', turn.now_us), format('%.0f-%d', turn.now_us, turn.limit_n))
        call('PEXPIRE', key, format('%d', us / 1000))
    end
    return nil, left(turn, limits)
end

return {admit = admit}
