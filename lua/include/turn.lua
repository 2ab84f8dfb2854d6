-- turn: the frame around the verbs. A node collects what one turn of its event loop asked for and
-- sends it as one call, so that a request costs a fraction of a round trip and of a script's
-- start. Inside a turn the verbs run one after the other; what can be written once for all of
-- them (used nonces, leases, counters, messages to one node) is collected and written at the end.
--
-- KEYS[1]  prefix of this shard's keys, with its hash tag: parley:{0}:
--          Keys are built from it: which topic a claim touches is known only here. All share the tag.
-- ARGV[1]  node: this node's id            ARGV[2] lease_ms     ARGV[3] delivery_ms
-- ARGV[4]  max_attempts                    ARGV[5] queue_max    ARGV[6] nonce_n
-- then nonce_n ids of nonces (16 bytes each), then per verb: its name, its number of arguments,
-- its arguments.
-- Returns  one string per verb, then this node's own events (strings; see include/outcome.lua
--          and include/claim.lua). All strings are lines: every field is a number, a name
--          (buf_put_name) or compact JSON, none of which holds a newline. A verb that breaks (a bug
--          of ours) is an error in its place; the others of the turn run and are written all the same.
-- A nonce argument is its 1-based place in the turn's list, 0 for none, negative for one that is
-- only to be recorded (a request that is sent again after a lost connection).

local P, args, node
local lease_ms, delivery_ms, max_attempts, queue_max
local now_us, now_ms, now_s
-- Numbers that many verbs store, as text: to write a double out and to read it back costs more than most
-- commands do.
local now_text, lease_end_text, delivery_end_text
local meta, events, mail, is_replayed_at
local with_work -- the models that have Open queries; nil: to be read (again)
local lease_new, lease_gone, lease_kept
local lease_known -- lease -> begun (true) or ended (false) in this turn
local open_delta, share_delta, users_seen

-- meta holds the shard's counters: lease (last lease id), depth (Open queries), vt (virtual time
-- of the fair order). Read once a turn, written once when changed.
local meta_dirty
local function meta_load()
    if meta then return meta end
    local got = call('HMGET', P .. 'meta', 'lease', 'depth', 'vt')
    meta = {lease = tonumber(got[1]) or 0, depth = tonumber(got[2]) or 0, vt = tonumber(got[3]) or 0}
    return meta
end

-- The next fencing id: rises forever, one per claim.
local function next_lease()
    local m = meta_load()
    m.lease = m.lease + 1
    meta_dirty = true
    return format('%d', m.lease)
end

local function is_replayed(index)
    return is_replayed_at[index]
end

local function use_nonces(first, n)
    is_replayed_at = {}
    if n == 0 then return end
    local day = floor(now_ms / 86400000)
    local today, yesterday = P .. 'nonces:' .. day, P .. 'nonces:' .. (day - 1)
    local in_today = call('SMISMEMBER', today, unpack(args, first, first + n - 1))
    local in_yesterday = call('SMISMEMBER', yesterday, unpack(args, first, first + n - 1))
    local seen = {}
    for i = 1, n do
        local nonce = args[first + i - 1]
        if in_today[i] == 1 or in_yesterday[i] == 1 or seen[nonce] then
            is_replayed_at[tostring(i)] = true
        end
        seen[nonce] = true
    end
    call('SADD', today, unpack(args, first, first + n - 1))
end

-- Counts Open queries: per account and user for max_waiting, in all for queue_max, and per account, and of it
-- per model, for its share of both (include/fair.lua).
local function count_open(account, user, model, delta)
    local field = account .. ' ' .. user
    open_delta[field] = (open_delta[field] or 0) + delta
    share_delta[account] = (share_delta[account] or 0) + delta
    if model ~= 'default' then
        field = account .. ':' .. model
        share_delta[field] = (share_delta[field] or 0) + delta
    end
    meta_load().depth = meta.depth + delta
    meta_dirty = true
end

local function open_count(account, user)
    local field = account .. ' ' .. user
    return (tonumber(call('HGET', P .. 'waiting', field)) or 0) + (open_delta[field] or 0)
end

-- Sends an event to a node: this one gets it in the reply, another by PUBLISH at the turn's end.
local function send_event(to, event)
    if to == node then
        events[#events + 1] = event
    else
        local list = mail[to]
        if not list then
            list = {}
            mail[to] = list
        end
        list[#list + 1] = event
    end
end

-- Events travel in one message as <length>:<bytes> each.
local function publish(channel, list)
    for i = 1, #list do list[i] = #list[i] .. ':' .. list[i] end
    return call('PUBLISH', P .. channel, concat(list))
end

-- Calls use(...) with the list's items as arguments, a part at a time: Lua's stack takes 8,000, and one
-- turn may end more leases than that.
local PART = 5000
local function in_parts(list, use)
    if #list <= PART then
        if #list > 0 then use(unpack(list)) end
        return
    end
    for from = 1, #list, PART do use(unpack(list, from, min(from + PART - 1, #list))) end
end

local function flush_leases()
    local key = P .. 'leases'
    if #lease_new > 0 then in_parts(lease_new, function(...) call('ZADD', key, ...) end) end
    if #lease_kept > 0 then in_parts(lease_kept, function(...) call('ZADD', key, 'XX', ...) end) end
    if #lease_gone > 0 then in_parts(lease_gone, function(...) call('ZREM', key, ...) end) end
    lease_new, lease_kept, lease_gone = {}, {}, {}
end

local begin_idle, flush_idle -- include/idle.lua
local flush_shares -- include/fair.lua

local function flush()
    flush_leases()
    flush_idle()
    for field, delta in pairs(open_delta) do
        if delta ~= 0 and call('HINCRBY', P .. 'waiting', field, delta) <= 0 then
            call('HDEL', P .. 'waiting', field)
        end
    end
    flush_shares()
    if meta_dirty then
        call('HSET', P .. 'meta', 'lease', format('%d', meta.lease), 'depth',
             format('%d', max(meta.depth, 0)), 'vt', format('%.6f', meta.vt))
    end
    for to, list in pairs(mail) do publish('node:' .. to, list) end
end

-- Runs one verb. What it breaks on stays its own: without this, what the verbs before it have collected
-- (leases of rows that are Pending already) would be lost with it.
local function run(verb, first)
    local is_good, reply = pcall(verbs[verb], first)
    if is_good then return reply end
    if type(reply) == 'table' then reply = reply.err end
    return {err = 'ERR ' .. tostring(verb) .. ': ' .. tostring(reply)}
end

-- runner: what runs one verb; include/full.lua has another one.
local function turn(keys, argv, runner)
    if not call then begin_library() end
    P, args, node = keys[1], argv, argv[1]
    lease_ms, delivery_ms = tonumber(argv[2]), tonumber(argv[3])
    max_attempts, queue_max = tonumber(argv[4]), tonumber(argv[5])
    local time = call('TIME')
    now_s = tonumber(time[1])
    now_us = now_s * 1000000 + tonumber(time[2])
    now_ms = floor(now_us / 1000)
    now_text = format('%d', now_ms)
    -- An odd deadline is one of a delivery lease (include/claim.lua).
    lease_end_text = format('%d', (now_ms + lease_ms) - (now_ms + lease_ms) % 2)
    delivery_end_text = format('%d', (now_ms + delivery_ms) - (now_ms + delivery_ms) % 2 + 1)
    meta, meta_dirty, events, mail = nil, false, {}, {}
    lease_new, lease_gone, lease_kept, lease_known = {}, {}, {}, {}
    open_delta, share_delta, users_seen, with_work = {}, {}, {}, nil
    begin_idle()
    local nonce_n = tonumber(argv[6])
    use_nonces(7, nonce_n)
    local replies, i, run_one = {}, 7 + nonce_n, runner or run
    while args[i] do
        replies[#replies + 1] = run_one(args[i], i + 2)
        i = i + 2 + args[i + 1]
    end
    flush()
    for e = 1, #events do replies[#replies + 1] = events[e] end
    return replies
end
