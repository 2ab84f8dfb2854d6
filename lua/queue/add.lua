-- add: stores one query in its topic and makes it claimable.
-- Guarantees: Seq counts 1, 2, 3 in a topic; the same Idempotency-Key stores nothing twice; a full
--   queue (TOPIC_OPEN_MAX Open queries of a topic, MODELS_MAX models waited for, max_waiting of a user, an
--   account's share, queue_max in all) stores nothing. With an engine parked somewhere the query is handed over
--   at once and never enters the queue.
-- KEYS: t:<topic> hash, topics:<user> zset (topic -> created ms), users set, idem:<account>:<key> string with TTL;
--   include/fair.lua, include/idle.lua, meta.
-- Wakes: one parked poll, by hand-over.
-- Bound: one query, and the `open` field of its topic (TOPIC_OPEN_BYTES).
-- Lane: add.  Home: topic.  Nonce: yes.  Full: refused.
-- Repeatable: with an idempotency key.
-- Arguments:
--   topic        name     made if it does not exist
--   user         name
--   account      name
--   model        name
--   weight       text 24  of the account, in the fair order
--   max_waiting  number   queries that the user may have Open
--   tail         text 2m  lines 3 to 7 of a row
--   key          name?    the idempotency key
--   digest       name?    of the body (hex); with a key only
--   is_own       flag     the user must have a part in the topic, if it exists
-- Replies: ok/seq/ms | replay | missing | mismatch | waiting/depth/eta | full/depth/eta
local IDEMPOTENCY_S = 86400
local TOPIC_OPEN_MAX, TOPIC_OPEN_BYTES = 1000, 262144
local TITLE_FROM = 1024  -- bytes of a first row from which its topic gets a title: lists read that instead

-- Stores a query as the next one of its topic, whose fields `seq` and `open` the caller has read, and makes
-- it claimable. What follows are more fields of the topic. Returns its Seq, or nil and what refuses it.
local function store_query(topic, last, open, user, account, model, weight, max_waiting, tail, ...)
    local key = P .. 't:' .. topic
    local seq = format('%d', (tonumber(last) or 0) + 1)
    local row = now_text .. '\n' .. account .. ' ' .. user .. ' ' .. model .. ' ' .. weight .. '\n' .. tail
    local has_open = open and open ~= ''
    if last and tonumber(last) > LOOK_BACK then list_passed(key, seq) end
    local waiter = not has_open and take_waiter(model)
    if waiter then
        local lease = start_lease(topic)
        call('HSET', key, 'seq', seq, 'q:' .. seq, row, 's:' .. seq,
             'P ' .. lease .. ' 1 ' .. waiter.account .. ' 1' .. handed_to(waiter), ...)
        send_event(waiter.node, 'claim\n' .. waiter.account .. '|' .. waiter.models .. '\n' .. topic
            .. '\n' .. lease .. '\n1\n1\n' .. seq .. '\n' .. row)
        return seq
    end
    local depth, mine = meta_load().depth, open_count(account, user)
    if mine >= max_waiting then return nil, 'waiting\n' .. mine .. '\n' .. eta_seconds(mine) end
    local taken = share_taken(account, model)
    if taken then return nil, 'waiting\n' .. taken .. '\n' .. eta_seconds(taken) end
    if has_open and (#open >= TOPIC_OPEN_BYTES or open_n(open, #open + 1, TOPIC_OPEN_MAX) == TOPIC_OPEN_MAX) then
        return nil, 'waiting\n' .. TOPIC_OPEN_MAX .. '\n' .. eta_seconds(TOPIC_OPEN_MAX)
    end
    if depth >= queue_max or not is_room_for(model) then
        return nil, 'full\n' .. depth .. '\n' .. eta_seconds(depth)
    end
    call('HSET', key, 'seq', seq, 'q:' .. seq, row, 'open',
         (open or '') .. open_item(seq, 0, model, user, account, weight), ...)
    count_open(account, user, model, 1)
    enqueue(model, user, topic, now_us, false)
    if has_open then offer(model) end
    return seq
end

verbs.add = function(a)
    --- arguments
    local idem_key
    if key ~= '' then
        idem_key = P .. 'idem:' .. account .. ':' .. key
        local earlier = call('GET', idem_key)
        if earlier then
            local with, answer = match(earlier, '^(%x+) (.*)$')
            if with ~= digest then return 'mismatch' end
            return answer
        end
    end
    local got = call('HMGET', P .. 't:' .. topic, 'seq', 'u:' .. user, 'open')
    if is_own and got[1] and not got[2] then return 'missing' end
    local seq, refusal
    if not got[1] and #tail > TITLE_FROM then
        seq, refusal = store_query(topic, nil, nil, user, account, model, weight, max_waiting, tail, 'u:' .. user, '1',
                                   'title', title_of(after_lines(tail, 4)))
    else
        seq, refusal = store_query(topic, got[1], got[3], user, account, model, weight, max_waiting, tail,
                                   'u:' .. user, '1')
    end
    if not seq then return refusal end
    if not got[2] then
        if call('ZADD', P .. 'topics:' .. user, now_text, topic) == 1 and not users_seen[user] then
            users_seen[user] = true
            call('SADD', P .. 'users', user)
        end
    end
    local answer = 'ok\n' .. seq .. '\n' .. now_text
    if idem_key then call('SET', idem_key, digest .. ' ' .. answer, 'EX', IDEMPOTENCY_S) end
    return answer
end
