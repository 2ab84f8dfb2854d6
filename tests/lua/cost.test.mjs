// SPDX-License-Identifier: MIT
//
// What a verb costs grows at most linearly with what clients sent. Each flow (cost_flows.mjs, and flow(…) beside the tests
// of a verb) is played twice: with the largest input that is taken, and with half of it. Of each call Redis's own
// microseconds are compared, the least of several tries: with twice the input they may grow by less than 3 times.
//
// Each verb is called with arguments made from its header, as large as it allows, and with a quarter of that, on an empty
// keyspace: so a new verb is looked at without a line here. (4 MiB cost an allocator more than twice what 2 MiB do: a
// quarter distinguishes that from a square.) What a verb costs that finds something, the flows say: they prepare it. A verb that
// is in neither, or that its header's arguments break, fails.
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { flowsOf, scripts, tailOf, VERBS } from '../support/lua.mjs';
import { knowsVectorSets } from '../support/lua_documents.mjs';
import { Data } from './cost_data.mjs';
import { flows } from './cost_flows.mjs';

const FLOWS = { ...flows, ...(await flowsOf(fileURLToPath(new URL('.', import.meta.url)))) };

const TRIES = 2;
const MOST_TRIES = 24; // on a machine that does other things, too
const GROWTH = 3;
const NOISE_US = 300; // what is cheaper than that is no trouble, and its measure no proof

// Redis's functions share one Lua, which collects garbage now and then, in the middle of a call: a cheap one may pay for
// what earlier, larger ones left, and more so with the larger input. So each call that is measured begins without any.
//
// A page that the kernel must hand out costs some machines ten times what is then done with it, and a large input needs new
// pages more often than a small one. So jemalloc keeps those that it has, which FLUSHALL would give back: keys are deleted
// instead, and from the second round on a call finds the memory that it needs.
const SERVER = `#!lua name=cost_test
redis.register_function('collect_test_garbage', function() collectgarbage() return 'ok' end)
redis.register_function('delete_test_keys', function()
  for _, key in ipairs(redis.call('KEYS', '*')) do redis.call('DEL', key) end
  return 'ok'
end)`;
const KEEP_PAGES = 'dirty_decay_ms:-1,muzzy_decay_ms:-1,oversize_threshold:0,lg_extent_max_active_fit:40';
const env = { MALLOC_CONF: KEEP_PAGES, JE_MALLOC_CONF: KEEP_PAGES }; // Debian's Redis, and one built with its own jemalloc

async function empty(shard) {
  await shard.cmd('FUNCTION', 'LOAD', 'REPLACE', SERVER);
  await shard.cmd('FCALL', 'delete_test_keys', 0);
}

// A shard that notes what each call cost, in the order of calls.
class Meter extends Data {
  calls = [];

  // What Redis's main thread has used of the processor. On a loaded machine a long call is always interrupted by other
  // programs, a short one not always: the time that has passed compares these, the processor's does not.
  async cpuUs() {
    const { used_cpu_user_main_thread: user, used_cpu_sys_main_thread: sys } = await this.shard.redis.info('cpu');
    return Math.round((Number(user) + Number(sys)) * 1e6);
  }

  // Calls a verb, and notes what it cost: the time that passed in it, or the processor's, with reading and answering, if
  // that is less.
  async call(verb, ...args) {
    await this.cmd('FCALL', 'collect_test_garbage', 0);
    await this.cmd('CONFIG', 'RESETSTAT');
    const before = await this.cpuUs();
    const reply = await this.turn(verb, ...args);
    const cpu = (await this.cpuUs()) - before;
    const { cmdstat_fcall } = await this.shard.redis.info('commandstats');
    this.calls.push([verb, Math.min(cpu, Number(/usec=(\d+)/.exec(cmdstat_fcall)[1]))]);
    return reply;
  }
}

// Takes a Redis that knows vector sets; on others it is not called.
const ELSEWHERE = {
  job_vectors: 'its vectors are bounded by the turn that brings them; tests/lua/documents/job_vectors.test.mjs',
  restore_vectors: 'is played in `a restore` where there are vector sets; tests/cluster/backup_refused.test.mjs',
};

// Plays the flow once. Returns per call its verb and what it cost.
async function play(shard, flow, factor) {
  await empty(shard);
  const meter = new Meter(shard, factor);
  await flow(meter);
  return meter.calls;
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

// Plays a flow with a part (a half, a quarter) and with all of its input, in turn, until no call grows, or often. One grows
// when its least cost does, and the costs of most rounds do too: a machine that became slower meanwhile changes both of a
// round. Returns the verbs that it called.
async function compare(shard, flow, part = 2) {
  const rounds = [];
  const costs = (i) => rounds.map(({ less, full }) => [less[i][1], full[i][1]]);
  const least = (i) => [0, 1].map((side) => Math.min(...costs(i).map((pair) => pair[side])));
  const most = GROWTH ** Math.log2(part);
  const ratio = ([less, full]) => full / Math.max(less, NOISE_US);
  const grows = (_, i) => ratio(least(i)) >= most && median(costs(i).map(ratio)) >= most;
  while (rounds.length < TRIES || (rounds.length < MOST_TRIES && rounds[0].full.some(grows)))
    rounds.push({ less: await play(shard, flow, 1 / part), full: await play(shard, flow, 1) });
  const verbs = rounds[0].full.map(([verb]) => verb);
  for (const { less, full } of rounds)
    for (const calls of [less, full]) assert.deepEqual(calls.map(([verb]) => verb), verbs);
  for (const [i, verb] of verbs.entries()) {
    const [less, full] = least(i);
    if (process.env.PARLEY_SHOW) console.log(`${verb.padEnd(16)} ${less} ${full}`);
    assert.ok(!grows(verb, i), `${verb}, call ${i + 1}: ${less} us, with ${part} times the input ${full} us`);
  }
  return verbs;
}

// --- arguments made from headers ---------------------------------------------------------------------

const LIST_BYTES = 4 << 20; // of all that one list brings: more than any caller sends at once

// Texts that are no plain run of letters: what a verb reads in them has a form. Of those with a length it is all.
const FORMS = {
  limits: (bytes) => Array.from({ length: 8 }, (_, i) => `w${i}:${'x'.repeat(Math.floor(bytes / 8) - 20)}:1000:60`).join(),
  tail: (bytes) => tailOf({ query: 'x'.repeat(bytes - 100) }),
  after: () => '0',
  before: () => '7',
  cursor: () => '0',
  step: () => '0',
  lease: () => '7',
  first: () => '0',
  expires: () => '9999999999999',
  due: () => '1000',
  entry: () => '7-0',
  of: () => 'set',
  field: (_bytes, i) => `f${i}`,
  known: () => '7',
  seen: () => '{}',
  parked: () => '1',
  claiming: () => '0',
  elsewhere: () => '0',
  hops: () => '9',
  tried: () => ',',
};
// Verbs that keep their reply under a key (lua/turn/made.lua).
const MADE = ['add_lookup', 'bot_register', 'doc_reindex', 'evaluation_begin', 'message_add', 'open_lookup', 'recommend', 'room_create', 'upload', 'upload_begin'];
const SPECIAL = {
  ...Object.fromEntries(MADE.map((name) => [name, { key: (bytes) => `ab F:${'x'.repeat(bytes - 5)}` }])),
  list_lookups: { after: () => '0' },
  recommendations: { after: () => '0-0' },
  list_recommendations: { after: () => '0-0' },
  unrecommend: { id: () => '1-0' },
  partials: { after: () => '0-0', brief: () => '' },
  user_topics: { after: (bytes) => `1000.${'x'.repeat(bytes - 10)}` },
  door_list: { after: (bytes) => `1.1000.${'x'.repeat(bytes - 10)}` },
  sync: { name: (bytes, i) => `F${i} ${'x'.repeat(bytes - 10)}` },
  restore_document: { field: (_bytes, i) => ['space', 'created', 'path', 'sha', 'generation', 'vectors', 'job', 'status', 'text_bytes', 'old_text_bytes', 'vectors_n', 'dimension', 'chunks'][i] ?? `f${i}`, value: (_bytes, i) => (i === 4 ? '0' : '7') },
};

function largestOf(name, arg, bytes, i) {
  const form = SPECIAL[name]?.[arg.name] ?? FORMS[arg.name];
  if (form) return form(bytes, i);
  if (arg.kind === 'flag') return '1';
  if (arg.kind === 'words') return arg.words[i % arg.words.length];
  if (arg.kind === 'number' || arg.kind === 'digits') return '100';
  return arg.kind === 'json' ? JSON.stringify('x'.repeat(bytes - 2)) : 'x'.repeat(bytes);
}

// The arguments of a call, each as long as its header allows, times `factor`, and so many in its lists.
function largest(name, verb, factor) {
  const args = verb.nonce !== 'no' ? ['0'] : [];
  args.push(...verb.args.map((arg) => largestOf(name, arg, Math.floor(arg.max * factor), 0)));
  const counts = verb.lists.map((list) => Math.max(1, Math.floor(list.max * factor)));
  args.push(...counts.slice(0, -1));
  verb.lists.forEach((list, k) => {
    const bytes = Math.floor(LIST_BYTES / list.max / list.args.length);
    for (let i = 0; i < counts[k]; i++) args.push(...list.args.map((arg) => largestOf(name, arg, Math.min(arg.max, bytes), i)));
  });
  return args;
}

const seen = new Set(Object.keys(ELSEWHERE));

// On a server other than the installed one, only what needs vector sets.
const isElsewhere = Boolean(process.env.PARLEY_TEST_REDIS);
const playedHere = ([name]) => !isElsewhere || name === 'a restore' || name.endsWith('vectors');

scripts('what a verb costs is linear in what clients sent', ({ test }) => {
  const testHere = isElsewhere ? () => {} : test;
  for (const [name, flow] of Object.entries(FLOWS).filter(playedHere)) {
    test(name, async (shard) => {
      for (const verb of await compare(shard, flow)) seen.add(verb);
    });
  }

  // Clients may add a thousand, but what was claimed meanwhile comes back. The field that holds them all is still copied:
  // what costs less than a millisecond is no trouble.
  testHere('what is done with some Open queries of a topic does not look at all the others', async (shard) => {
    const costs = {};
    for (const [size, claims] of [['few', 2], ['many', 16]]) {
      await empty(shard);
      const meter = new Meter(shard, 1);
      const leaseOf = (claim) => claim.split('\n')[3];
      const leases = [];
      for (let i = 0; i < claims; i++) {
        for (let k = 0; k < 10; k++)
          await shard.turn(Array.from({ length: 100 }, (_, n) => ['add', 0, 't', `u${n}`, 'F', 'default', 1, 1e6, tailOf(), '', '', '']));
        leases.push(leaseOf(await shard.call('claim', 0, 'E|*', '0')));
      }
      for (const lease of leases) await shard.call('give_back', 't', lease);
      for (let i = 0; i < 10; i++) {
        const claim = await meter.expect(/^claim/, 'claim', 0, 'E|*', '0');
        await meter.expect(/^waiting/, 'add', 0, 't', 'alice', 'F', 'default', 1, 1e6, tailOf(), '', '', '');
        await meter.expect(/^ok/, 'give_back', 't', leaseOf(claim), '1');
        await meter.expect(/^Open/, 'check', 0, 't', 500, '', 'position');
        const again = await shard.call('claim', 0, 'E|*', '0');
        const lease = (await shard.cmd('ZRANGE', shard.key('leases'), 0, 0))[0];
        await shard.cmd('ZADD', shard.key('leases'), 'XX', 1, lease);
        assert.equal(lease, `${leaseOf(again)} t`);
        await meter.call('reap');
      }
      costs[size] = {};
      for (const [verb, us] of meter.calls) costs[size][verb] = Math.min(us, costs[size][verb] ?? Infinity);
    }
    if (process.env.PARLEY_SHOW) console.log(costs);
    for (const [verb, us] of Object.entries(costs.many))
      assert.ok(us < GROWTH * Math.max(costs.few[verb], 1000), `${verb}: ${costs.few[verb]} us, among 8 times as many ${us} us`);
  });

  testHere('no verb that finds something is missing here', () => {
    assert.ok(Object.keys(VERBS).length > 50);
    assert.deepEqual(Object.keys(VERBS).filter((verb) => !seen.has(verb)), []);
  });

  for (const [name, verb] of Object.entries(VERBS).filter(playedHere)) {
    test(`${name}, with arguments as large as its header allows`, async (shard) => {
      if (/vectors$/.test(name) && verb.lists.length && !(await knowsVectorSets(shard))) return;
      const flow = async (m) => {
        await m.call(name, ...largest(name, verb, m.factor));
      };
      await compare(shard, flow, 4);
    });
  }
}, { encoding: 'latin1', env });
