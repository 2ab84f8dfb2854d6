-- frame: runs the verbs of one turn. A node collects the verbs of one turn of its event loop and sends them as one
--   call, so a request costs only a fraction of a round trip and of a script start. The verbs of a turn run in
--   sequence; shared writes (used nonces, leases, counters, messages to one node) are collected and written at the end.
--
-- KEYS[1]  prefix of this shard's keys, with its hash tag: parley:{0}:
--          Keys are built from it: which topic a claim touches is known only here. All share the tag.
-- ARGV[1]  what is the same in all turns of a node, by spaces: node (its id), lease_ms, delivery_ms, max_attempts,
--          queue_max, shard_n (shards of the cluster; 0: not said), fallback_ms (after which queries for a model
--          without an engine are served as `default`; 0: never)
-- ARGV[2]  nonce_n, or three numbers by spaces: nonce_n, alone_n, marked_n. The last two are of requests that only use
--          their nonces in this turn, because their verbs run on other shards: the verbs `nonce` and, of add-query,
--          `nonce_of_add` without the words of a verb, each of which costs Redis more than the nonce does.
--          Or, if the first of these verbs have run, what that call returned for this one (below)
-- then so many ids of nonces (16 bytes each), and marked_n members (queue/nonce_of_add.lua), then per verb: its name
-- and its number of arguments as one word ("check 006"), its arguments.
-- Returns  if ARGV[2] has three numbers, first a string of lines, "<which, from 1> replay" or "<which> again":
--          the nonces of the last two kinds that were used before; all others are `ok`;
--          then one string per verb, then this node's own events (strings; see queue/outcomes.lua
--          and queue/claims.lua); a long one in parts (turn/parts.lua). All are lines: every field is a number, a name
--          (buf_put_name) or compact JSON, none of which holds a newline. A verb that fails (our own bug) returns an
--          error in its place; the other verbs of the turn still run and are written.
--          After TURN_BYTES of verbs' replies and of what they read, what is left has not run, and its nonces are not
--          used: in place of its replies there is one string, the byte 2 and "rest <words> <nonce_n>". So many words
--          belong to verbs that have run. The node sends nonces and verbs again, with "rest ..." as ARGV[2]
--          (turn_answer.c).
--
-- The state of a turn is one table, created here and passed to every verb and helper. Modules keep no state of their
-- own, so nothing leaks into the next turn. Each module creates its fields when it needs them:
--   meta                                                    turn/counters.lua
--   events                                                  turn/events.lua
--   leases_begun, leases_kept, leases_ended, lease_keys_ended, lease_ended_at, lease_end_text, delivery_end_text
--                                                           queue/leases.lua
--   idle, idle_lookups, is_alive_at                         queue/idle.lua
--   waiting_deltas, share_deltas, depth_deltas              queue/shares.lua
--   stored_sums, stored_deltas                              queue/stored.lua
--   marks_noted                                             queue/nonce_marks.lua
--   models_with_work, served, has_vt_moved                  queue/fair.lua
--   is_rescan                                               queue/sync.lua
--   fallen                                                  queue/fallback.lua
--   pace_ms                                                 queue/pace.lua
--   users_noted                                             topic/users.lua
--   due_n                                                   turn/due.lua
--   now_us_text                                             queue/enqueue.lua
--   limit_n                                                 auth/limiter.lua
local verbs = require('verbs')
local fair = require('queue/fair')
local hints = require('queue/hints')
local idle = require('queue/idle')
local leases = require('queue/leases')
local nonce_marks = require('queue/nonce_marks')
local shares = require('queue/shares')
local stored = require('queue/stored')
local users = require('topic/users')
local bounds = require('turn/bounds')
local counters = require('turn/counters')
local events = require('turn/events')
local nonces = require('turn/nonces')
local parts = require('turn/parts')
local call = redis.call
local concat, floor, format, match = table.concat, math.floor, string.format, string.match
local put_reply = parts.put_reply
local TURN_BYTES = bounds.TURN_BYTES

local SETTINGS_MAX = 256 -- that are kept; nodes have new ids when they start again
local settings, settings_n = {}, 0
local CALLED_MAX = 1024  -- words that are kept: verbs, with each number of arguments
local called, called_n = {}, 0

-- Reads what a node says of itself, once: each word of a call costs more than many commands do.
local function settings_of(text)
    local known = settings[text]
    if known then return known end
    local node, lease_ms, delivery_ms, max_attempts, queue_max, shard_n, fallback_ms =
        match(text, '^(%S+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
    known = {
        node = node, lease_ms = tonumber(lease_ms), delivery_ms = tonumber(delivery_ms),
        max_attempts = tonumber(max_attempts), queue_max = tonumber(queue_max), shard_n = tonumber(shard_n),
        fallback_ms = tonumber(fallback_ms), is_sharded = tonumber(shard_n) > 1,
    }
    if settings_n == SETTINGS_MAX then settings, settings_n = {}, 0 end
    settings[text], settings_n = known, settings_n + 1
    return known
end

-- A verb's word is read once, too. If its module does not compile or run, that is the reply of this verb alone.
local function called_by(word)
    local name, arg_n = match(word, '^(%S+) (%d+)$')
    local is_good, run = pcall(verbs.by_name, name)
    local known = {name = name, run = run, word_n = 1 + tonumber(arg_n)}
    if not is_good then
        known.run = function() error(run, 0) end
        return known
    end
    if called_n == CALLED_MAX then called, called_n = {}, 0 end
    called[word], called_n = known, called_n + 1
    return known
end

-- is_full: Redis is (turn/full.lua). nonce_n: all of them.
local function begin(prefix, argv, nonce_n, is_full)
    local time = call('TIME')
    local now_s = time[1] + 0 -- a number, sooner than tonumber
    local now_us = now_s * 1000000 + time[2]
    local now_ms, of_node = floor(now_us / 1000), settings_of(argv[1])
    return {
        prefix = prefix, args = argv, is_full = is_full,
        settings = of_node, node = of_node.node, is_sharded = of_node.is_sharded,
        now_us = now_us, now_ms = now_ms, now_s = now_s,
        -- As text: to write a double out and to read it back costs more than most commands do.
        now_text = format('%d', now_ms),
        is_replayed_at = nonces.use(prefix, argv, 3, nonce_n, now_ms),
        replied_bytes = 0, -- of what the verbs returned
        read_bytes = 0,    -- of what they read, where that may be much (bounds.note_read)
        offered_bytes = 0, -- of claims that were handed over because of work that came (queue/claims.lua)
        scans = 0,         -- for claims: models and Open queries that were scanned
        at = nil,          -- the place of the verb that runs
        -- With more than 16 fields named here, Lua makes room for 32 at once.
        meta = nil, events = nil,
    }
end

local function failure(name, reply)
    if type(reply) == 'table' then reply = reply.err end
    return {err = 'ERR ' .. tostring(name) .. ': ' .. tostring(reply)}
end

-- The nonces that have no verb here. `after`: how many nonces precede them.
local function answer_alone(turn, after, alone_n, marked_n)
    local used, lines = turn.is_replayed_at, {}
    local members_at = 2 + after + alone_n + marked_n
    local is_any_used = next(used) ~= nil
    for i = 1, is_any_used and alone_n or 0 do
        if used[format('%d', after + i)] then lines[#lines + 1] = i .. ' replay' end
    end
    for i = 1, marked_n do
        local member, which = turn.args[members_at + i], alone_n + i
        if is_any_used and used[format('%d', after + which)] then
            lines[#lines + 1] = which .. ' ' .. nonce_marks.use_again(turn, member)
        else
            nonce_marks.note(turn, member)
        end
    end
    return concat(lines, '\n')
end

-- Runs the verbs from turn.at on. may_run: of a full Redis, the names of those that run (turn/full.lua).
local function run_verbs(turn, argv, replies, may_run)
    local i, bytes = turn.at, turn.replied_bytes
    local word = argv[i]
    while word do
        turn.at = i
        local verb = called[word] or called_by(word)
        if may_run and not may_run[verb.name] then
            put_reply(replies, {err = 'STOREFULL ' .. verb.name})
        else
            bytes = bytes + put_reply(replies, verb.run(turn, i + 1))
        end
        i = i + verb.word_n
        word = bytes + turn.read_bytes < TURN_BYTES and argv[i]
    end
    turn.at, turn.replied_bytes = i, bytes
end

-- Puts off what is left from turn.at on for the node's next call.
local function put_off(turn, word_n, nonce_n, replies)
    local names, places, at = {}, {}, turn.at
    while turn.args[at] do
        local word = turn.args[at]
        local verb = called[word] or called_by(word)
        names[#names + 1], places[#places + 1] = verb.name, at + 1
        at = at + verb.word_n
    end
    nonces.give_back(turn, names, places)
    put_reply(replies, format('\2rest %d %d', word_n, nonce_n))
end

local function run(keys, argv, may_run)
    local nonce_n, alone_n, marked_n, run_n = tonumber(argv[2]), nil, nil, 0
    if not nonce_n then nonce_n, alone_n, marked_n = match(argv[2], '^(%d+) (%d+) (%d+)$') end
    if not nonce_n then run_n, nonce_n = match(argv[2], '^rest (%d+) (%d+)$') end
    local all_n = nonce_n + (alone_n or 0) + (marked_n or 0)
    local turn, replies = begin(keys[1], argv, all_n, may_run ~= nil), {}
    if alone_n then
        local is_good, reply = pcall(answer_alone, turn, tonumber(nonce_n), tonumber(alone_n), tonumber(marked_n))
        replies[1] = is_good and reply or failure('nonces', reply)
    end
    local verbs_at = 3 + all_n + (marked_n or 0)
    turn.at = verbs_at + run_n
    local is_good, reply = pcall(run_verbs, turn, argv, replies, may_run)
    while not is_good do
        -- What a verb breaks on stays its own: otherwise what the verbs before it have collected (leases of rows that
        -- are Pending already) would be lost with it.
        local verb = called_by(argv[turn.at])
        put_reply(replies, failure(verb.name, reply))
        turn.at = turn.at + verb.word_n
        is_good, reply = pcall(run_verbs, turn, argv, replies, may_run)
    end
    if argv[turn.at] then put_off(turn, turn.at - verbs_at, nonce_n, replies) end
    leases.flush(turn)
    idle.flush(turn)
    hints.flush(turn)
    fair.flush(turn)
    shares.flush(turn)
    stored.flush(turn)
    users.flush(turn)
    nonce_marks.flush(turn)
    counters.flush(turn)
    events.flush(turn, replies)
    if turn.is_sharded then replies[#replies + 1] = 'open\n' .. counters.depth_text(turn) end
    return replies
end

return {run = run}
