// SPDX-License-Identifier: MIT
//
// call_clock: what each call of the function library takes of Redis's processor time. Redis's own SLOWLOG has the time that
// passed, which on a busy machine is several times as much. The library that the nodes have loaded is replaced by the same
// one with a clock around its functions; nodes do not notice.
const LEAST_MS = 1;
const RUN = /return (require\('turn\/(?:frame|full)'\)\.run)\(keys, argv\)/g;
const CLOCK = `
local long_calls = {}
local function verbs_of(argv)
  local names, counts = {}, {}
  for i = 3, #argv do
    local name = #argv[i] < 64 and string.match(argv[i], '^([a-z_]+) %d%d%d$')
    if name and not counts[name] then names[#names + 1] = name end
    if name then counts[name] = (counts[name] or 0) + 1 end
  end
  for i, name in ipairs(names) do names[i] = counts[name] .. ' ' .. name end
  return table.concat(names, ', ')
end
local function used_ms()
  local info = redis.call('INFO', 'cpu')
  local user, sys = string.match(info, 'user_main_thread:([%d.]+)'), string.match(info, 'sys_main_thread:([%d.]+)')
  return (user + sys) * 1000
end
local function clocked(run, keys, argv)
  local began = used_ms()
  local replies = run(keys, argv)
  local ms = used_ms() - began
  if ms >= ${LEAST_MS} then long_calls[#long_calls + 1] = string.format('%.1f %s', ms, verbs_of(argv)) end
  return replies
end
redis.register_function('take_long_calls', function()
  local calls = long_calls
  long_calls = {}
  return calls
end)
`;

export async function clockCalls(redis) {
  for (const library of await redis.cmd('FUNCTION', 'LIST', 'LIBRARYNAME', 'parley_*', 'WITHCODE')) {
    const code = library[library.indexOf('library_code') + 1];
    const end = code.indexOf('\n', code.indexOf('local FUNCTION_NAME')) + 1;
    await redis.cmd('FUNCTION', 'LOAD', 'REPLACE', code.slice(0, end) + CLOCK + code.slice(end).replace(RUN, 'return clocked($1, keys, argv)'));
  }
}

// Those since the last time, the longest first: [ms, verbs].
export async function takeLongCalls(redis) {
  const calls = (await redis.cmd('FCALL', 'take_long_calls', 0)).map((text) => /^(\S+) (.*)$/.exec(text)).map(([, ms, verbs]) => [Number(ms), verbs]);
  return calls.sort(([a], [b]) => b - a);
}
