-- outcome: how a query ends, once, and who is told. The event "outcome" carries what check-query
-- shows, so that a waiting node needs no second look; "changed" asks it to look (partials,
-- a claim that came back). Both name topic and Seq first.
-- An outcome as text: status / 7 row lines / 5 answer lines (empty ones without an answer, with
-- the reason in the place of the answer when Failed or Cancelled).

local OUTCOME_INLINE_MAX = 65536 -- larger answers are fetched by whoever waits

-- `before` and `after`, if any, are what it is to stand between: texts are joined once, since every string
-- that is made costs a hash of all its bytes.
local function outcome_text(row, state, answer, before, after)
    local first = byte(state)
    before, after = before or '', after or ''
    if first == 68 then return before .. 'Done\n' .. row .. '\n' .. answer .. after end
    local name = first == 70 and 'Failed' or 'Cancelled'
    return before .. name .. '\n' .. row .. '\n' .. sub(state, 3) .. '\n\n\n\n' .. after
end

local function tell_waiters(topic, seq, waiting, event)
    if not waiting or waiting == '' then return end
    for to in gmatch(waiting, '%S+') do send_event(to, event) end
end

local WAITING_BYTES = 2048 -- from there on nodes that are gone are left out

-- Writes this node down as waiting for a query. `waiting`: who does already.
local function wait_for(topic, seq, waiting)
    local key = P .. 't:' .. topic
    if not waiting or waiting == '' then
        call('HSET', key, 'w:' .. seq, node)
    elseif not find(' ' .. waiting .. ' ', ' ' .. node .. ' ', 1, true) then
        if #waiting > WAITING_BYTES then
            local alive = {}
            for other in gmatch(waiting, '%S+') do
                if is_alive(other) then alive[#alive + 1] = other end
            end
            waiting = concat(alive, ' ')
        end
        call('HSET', key, 'w:' .. seq, waiting .. ' ' .. node)
    end
end

local function outcome_event(topic, seq, row, state, answer)
    if #row + #(answer or '') > OUTCOME_INLINE_MAX then
        return 'changed\n' .. topic .. '\n' .. seq
    end
    return outcome_text(row, state, answer, 'outcome\n' .. topic .. '\n' .. seq .. '\n')
end

-- One query of a claim is no longer Pending: the lease ends with its last one.
local function leave_lease(topic, lease, n)
    if n > 1 and #held_by(topic, lease) > 0 then return end
    end_lease(lease, topic)
    if n > 1 then call('HDEL', P .. 't:' .. topic, 'l:' .. lease) end
end

-- Takes an Open query out of the queue.
local function leave_open(topic, seq)
    local key = P .. 't:' .. topic
    local rest, model, user, account, has_more = open_without(call('HGET', key, 'open') or '', seq)
    if not rest then return end
    call('HSET', key, 'open', rest)
    count_open(account, user, model, -1)
    if not has_more then dequeue(model, user, topic) end
end

local FAILED_MAX = 1000 -- failed queries that operators can list
local STAT_S = 7200

-- Ends a query that is Open or Pending as Failed ("F") or Cancelled ("C"). `is_lease_over`: the caller
-- has ended its lease, or will.
local function end_query(topic, seq, kind, reason, is_lease_over)
    local key = P .. 't:' .. topic
    local got = call('HMGET', key, 's:' .. seq, 'q:' .. seq, 'w:' .. seq)
    local lease, _, _, n = parse_pending(got[1])
    local state = kind .. ' ' .. reason
    call('HSET', key, 's:' .. seq, state, 'w:' .. seq, '')
    if not lease then
        leave_open(topic, seq)
    elseif not is_lease_over then
        leave_lease(topic, lease, n)
    end
    if lease and kind == 'C' then
        local earlier = call('HGET', key, 'c:' .. lease)
        call('HSET', key, 'c:' .. lease, earlier and earlier .. ',' .. seq or seq)
    end
    if kind == 'F' then
        call('ZADD', P .. 'failed', now_ms, topic .. ' ' .. seq)
        call('ZREMRANGEBYRANK', P .. 'failed', 0, -FAILED_MAX - 1)
        local stat = P .. 'stat:' .. floor(now_s / 60)
        call('HINCRBY', stat, 'failed', 1)
        call('EXPIRE', stat, STAT_S)
    end
    call('DEL', P .. 'partials:' .. topic .. ':' .. seq)
    tell_waiters(topic, seq, got[3], outcome_event(topic, seq, got[2], state))
end

-- Gives Pending rows back after a claim ended without an answer: Open again at the front, or
-- Failed once their attempts are used up. The caller has ended the lease, or will.
local function return_rows(topic, seqs, attempts, reason)
    local again, used = {}, {}
    for i = 1, #seqs do
        if attempts[i] >= max_attempts then
            end_query(topic, seqs[i], 'F', reason, true)
        else
            again[#again + 1] = seqs[i]
            used[#used + 1] = attempts[i]
            local waiting = call('HGET', P .. 't:' .. topic, 'w:' .. seqs[i])
            call('DEL', P .. 'partials:' .. topic .. ':' .. seqs[i])
            tell_waiters(topic, seqs[i], waiting, 'changed\n' .. topic .. '\n' .. seqs[i])
        end
    end
    if #again > 0 then reopen(topic, again, used) end
end
