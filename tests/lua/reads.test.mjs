// SPDX-License-Identifier: MIT
//
// What a verb reads is bounded, and known to its turn, which then stops (lua/turn/frame.lua): a verb that returns little may
// have read much. The flows of cost.test.mjs are played with the largest data that clients may make, on a library that counts
// each command of Redis and the bytes of its reply, 64 more for each element. A command counts as ROW_BYTES.
//
// Shards: 1, because verbs are called on one shard.
import assert from 'node:assert/strict';
import { scripts, VERBS } from '../support/lua.mjs';
import { Data } from './cost_data.mjs';
import { flows } from './cost_flows.mjs';

const ROW_BYTES = 1024; // lua/turn/bounds.lua
// What a verb may read besides its reply without its turn knowing: of 128 verbs, or of four slow ones.
const UNKNOWN_BYTES = 256 << 10, UNKNOWN_OF_SLOW_BYTES = 1 << 20;
const MOST_BYTES = 16 << 20; // of one verb: 20 ms

const COUNTER = `
local calls, bytes, noted_calls, noted_bytes = 0, 0, 0, 0
local function size_of(value)
  if type(value) == 'string' then return #value end
  if type(value) ~= 'table' then return 8 end
  local n = 0
  for i = 1, #value do n = n + 64 + size_of(value[i]) end
  return n
end
local function counted_call(name, ...)
  if not name then
    local more_calls, more_bytes = ...
    noted_calls, noted_bytes = noted_calls + more_calls, noted_bytes + more_bytes
    return nil
  end
  local reply = redis.call(name, ...)
  calls, bytes = calls + 1, bytes + size_of(reply)
  return reply
end
redis.register_function('take_counts', function()
  local counts = {calls, bytes, noted_calls, noted_bytes}
  calls, bytes, noted_calls, noted_bytes = 0, 0, 0, 0
  return counts
end)
`;

// Each module gets the counter as an argument, next to \`require\`, and calls it instead of Redis.
function counting(text) {
  const [head, ...rest] = text.split('\n');
  const modules = rest.join('\n')
    .replace(/^(texts\['[^']+'\] = \[=+\[)/gm, '$1local _, COUNTED_CALL = ... ')
    .replace(')(require)', ')(require, counted_call)')
    .replaceAll('redis.call', 'COUNTED_CALL')
    .replace('local function note_read(turn, commands, bytes)', '$& COUNTED_CALL(false, commands, bytes)');
  return `${head}\n${COUNTER}${modules}`;
}

// Verbs of a restore are called one at a time, while nobody else is served.
const isAlone = (verb) => verb.startsWith('restore');

class Counted extends Data {
  most = {}; // of each verb: what it read, and how much of that its turn did not know

  async call(verb, ...args) {
    await this.cmd('FCALL', 'take_counts', 0);
    const reply = await this.turn(verb, ...args);
    const [calls, bytes, notedCalls, notedBytes] = await this.cmd('FCALL', 'take_counts', 0);
    const read = calls * ROW_BYTES + bytes;
    const unknown = read - (notedCalls * ROW_BYTES + notedBytes) - reply.length;
    const { read: had = 0, unknown: hidden = -Infinity } = this.most[verb] ?? {};
    this.most[verb] = { read: Math.max(had, read), unknown: Math.max(hidden, unknown) };
    return reply;
  }
}

scripts('what a verb reads is bounded, and its turn knows it', ({ test }) => {
  for (const [name, flow] of Object.entries(flows)) {
    test(name, async (shard) => {
      const counted = new Counted(shard, 1);
      await flow(counted);
      if (process.env.PARLEY_SHOW) console.table(counted.most);
      for (const [verb, { read, unknown }] of Object.entries(counted.most)) {
        const most = VERBS[verb].lane === 'slow' ? UNKNOWN_OF_SLOW_BYTES : UNKNOWN_BYTES;
        assert.ok(unknown <= most || isAlone(verb), `${verb} reads ${unknown} bytes that its turn does not know: bounds.note_read`);
        assert.ok(read <= MOST_BYTES, `${verb} reads ${read} bytes`);
      }
    });
  }
}, { encoding: 'latin1', library: counting });
