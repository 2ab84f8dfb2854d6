// SPDX-License-Identifier: MIT
//
// attacks: what one account can take of Redis and of a node's loop with requests within its limits, and what another account
// sees of it: the longest call of Redis (SLOWLOG; of a busy machine it is longer than the processor needs), passes of the loop
// by the thread's processor time (parley_loop_pass_seconds), and the other account's add-query, one every 20 ms.
//
//   PARLEY_BIN=build/release/parley node tests/bench/attacks.mjs [a part of an attack's name]
import { ACCOUNTS, assertOk, startCluster } from '../support/harness.mjs';
import { registerBot } from '../support/bot_server.mjs';
import { keyOf } from '../support/shards.mjs';

const PASS = /parley_loop_pass_seconds_bucket\{[^}]*le="([^"]+)"\} (\d+)/g;
const CONTROL = '\u0001';

const accounts = { ...ACCOUNTS, Other: { secret: 'other-secret', role: 'frontend' } };
for (const name of ['Frontend_1', 'Other']) accounts[name] = { ...accounts[name], max_waiting: 100_000 };
const cluster = await startCluster({ nodes: 1, accounts, args: ['--threads', '1', '--queue-max', '1000000', '--allow-private-endpoints'] });

async function seedTopics(user, n, letters) {
  const names = Array.from({ length: n }, (_, i) => `${user}-${i}`);
  const row = [1000, `Frontend_1 ${user} default 1`, JSON.stringify(user), '"default"', '{}', '', JSON.stringify('a'.repeat(letters))].join('\n');
  for (let i = 0; i < n; i += 100)
    await Promise.all(names.slice(i, i + 100).map((Topic) => cluster.redis.cmd('HSET', keyOf(Topic, `t:${Topic}`), 'q:1', row, 'title', '"a"', 's:1', 'C "no"', 'seq', 1, `u:${user}`, 1)));
  for (const [i, Topic] of names.entries()) await cluster.redis.cmd('ZADD', keyOf(Topic, `topics:${user}`), i + 1, Topic);
}

const get = (path, query) => cluster.request('GET', path, { as: 'Frontend_1', query, timeout: 300_000 });
const post = (path, body) => cluster.request('POST', path, { as: 'Frontend_1', body, timeout: 300_000 });
const many = (n, one) => Promise.all(Array.from({ length: n }, (_, i) => one(i)));

const ATTACKS = {
  'find-topics over 35 MB, 16 at once': async () => {
    await seedTopics('texts', 140, 250_000);
    return () => many(16, () => get('/api/find-topics', { OnBehalfOf: 'texts', Text: `${'a'.repeat(255)}b` }));
  },
  'user-topics of 8,000 topics, 32 at once': async () => {
    await seedTopics('lists', 8000, 10);
    return () => many(32, () => get('/api/user-topics', { OnBehalfOf: 'lists' }));
  },
  'add-query with 150 KB of control characters, 64 at once': async () => () =>
    many(64, (i) => post('/api/add-query', { Topic: `c${i}`, User: `u${i}`, Query: CONTROL.repeat(150_000) })),
  'evaluations of 3.7 MB of control characters, 8 at once': async () => {
    await registerBot(cluster, 'eva', 'http://127.0.0.1:9/', { emulates: 'Ann' });
    const pair = [{ from: 'Bob', text: CONTROL.repeat(5000) }, { from: 'Ann', text: CONTROL.repeat(5000) }];
    const conversation = Array.from({ length: 62 }, () => pair).flat();
    return () => many(8, (i) => post('/api/evaluations?OnBehalfOf=eve', { bot: 'eva', conversation: [...conversation, { from: 'Bob', text: `${i}` }] }));
  },
  'answers of 1 MB, checked 200 times at once': async () => {
    const { Topic, Seq } = await cluster.add({ as: 'Frontend_1', User: 'answers', Query: 'long' });
    await cluster.claim({ as: 'Inference_1' });
    await cluster.answer({ as: 'Inference_1', Topic, Seq, Query: 'long', Answer: ['x'.repeat(1_000_000)] });
    return () => many(200, () => get('/api/check-query', { Topic, Seq, Wait: 0 }));
  },
};

async function passes() {
  const { text } = await cluster.request('GET', '/metrics?Cluster=false', { node: 0 });
  return new Map([...text.matchAll(PASS)].map(([, le, n]) => [le, Number(n)]));
}

const at = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;

async function watched(attack) {
  const times = [], before = await passes();
  let is_over = false;
  await cluster.redis.cmd('CONFIG', 'SET', 'slowlog-log-slower-than', 1000);
  await cluster.redis.cmd('SLOWLOG', 'RESET');
  const other = (async () => {
    for (let i = 0; !is_over || i < 20; i++) {
      const began = performance.now();
      assertOk(await cluster.request('POST', '/api/add-query', { as: 'Other', body: { Topic: `o${i}`, User: 'other', Query: 'short' }, timeout: 300_000 }));
      times.push(performance.now() - began);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  const began = performance.now();
  const statuses = (await attack()).map(({ status }) => status);
  is_over = true;
  await other;
  const slow = (await cluster.redis.cmd('SLOWLOG', 'GET', -1)).map((entry) => entry[2] / 1000).sort((a, b) => a - b);
  const after = await passes();
  const over = (le) => after.get('+Inf') - before.get('+Inf') - (after.get(le) - before.get(le));
  times.sort((a, b) => a - b);
  return {
    seconds: ((performance.now() - began) / 1000).toFixed(1), statuses: [...new Set(statuses)].join(), 'longest call, ms': (slow.at(-1) ?? 0).toFixed(1),
    'passes > 12.8 ms': over('0.0128'), '> 25.6 ms': over('0.0256'), '> 51.2 ms': over('0.0512'),
    'other p50, ms': at(times, 0.5).toFixed(1), 'p99, ms': at(times, 0.99).toFixed(1),
  };
}

const rows = {};
try {
  for (const [name, prepare] of Object.entries(ATTACKS).filter(([one]) => one.includes(process.argv[2] ?? ''))) {
    rows[name] = await watched(await prepare());
    console.log(name, rows[name]);
  }
} finally {
  console.table(rows);
  await cluster.stop();
}
