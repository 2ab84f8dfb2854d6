-- list: a page of queries in one state, for operators.
-- KEYS: models, turns:<model>, open:<model>:<user>, leases, failed, t:<topic>.
-- ARGV: nonce, state (Open | Pending | Failed), user (name; '' for all), after (cursor: how many to
--   skip), page (number).
-- Returns: replay | ok/next cursor ('' at the end), then per query topic / Seq / 13 lines as in
--   include/outcome.lua.
-- Wakes: nobody.  Repeatable: yes.
local LIST_SCAN_MAX = 20000 -- queries looked at; what lies behind is not listed

-- Calls visit(topic, seq) for the queries in a state, until it returns true.
local function each_open(visit)
    for _, model in ipairs(call('SMEMBERS', P .. 'models')) do
        for _, user in ipairs(call('ZRANGE', P .. 'turns:' .. model, 0, USERS_MAX - 1)) do
            for _, topic in ipairs(call('ZRANGE', P .. 'open:' .. model .. ':' .. user, 0, LIST_SCAN_MAX)) do
                for item in gmatch(call('HGET', P .. 't:' .. topic, 'open') or '', '[^;]+') do
                    local seq, of_model, of_user = match(item, '^(%d+) %d+ (%S+) (%S+)')
                    if of_model == model and of_user == user and visit(topic, seq) then return end
                end
            end
        end
    end
end

local function each_pending(visit)
    for _, member in ipairs(call('ZRANGE', P .. 'leases', 0, LIST_SCAN_MAX)) do
        local lease, topic = match(member, '^(%d+) (%S+)$')
        for _, seq in ipairs(held_by(topic, lease)) do
            if visit(topic, seq) then return end
        end
    end
end

local function each_failed(visit)
    for _, member in ipairs(call('ZRANGE', P .. 'failed', 0, LIST_SCAN_MAX)) do
        local topic, seq = match(member, '^(%S+) (%d+)$')
        if visit(topic, seq) then return end
    end
end

verbs.list = function(a)
    if is_replayed(args[a]) then return 'replay' end
    local each = ({Open = each_open, Pending = each_pending, Failed = each_failed})[args[a + 1]]
    local user, skip, page = args[a + 2], tonumber(args[a + 3]), tonumber(args[a + 4])
    local text, seen, taken, looked = {'ok', ''}, 0, 0, 0
    each(function(topic, seq)
        looked = looked + 1
        if looked > LIST_SCAN_MAX then return true end
        local got = call('HMGET', P .. 't:' .. topic, 'q:' .. seq, 's:' .. seq)
        local row = got[1]
        if not row or (user ~= '' and match(row, '^%d+\n%S+ (%S+)') ~= user) then return false end
        seen = seen + 1
        if seen <= skip then return false end
        if taken == page then
            text[2] = format('%d', skip + page)
            return true
        end
        taken = taken + 1
        text[#text + 1] = topic
        text[#text + 1] = seq
        local first = got[2] and byte(got[2])
        if first == 70 then
            text[#text + 1] = outcome_text(row, got[2])
        else
            text[#text + 1] = args[a + 1] .. '\n' .. row .. '\n\n\n\n\n'
        end
        return false
    end)
    return concat(text, '\n')
end
