// SPDX-License-Identifier: MIT
//
// attacks: what accounts can take of Redis and of a node's loop with requests within their limits, and what another account
// sees of it: the longest calls of Redis by its processor time (call_clock.mjs), passes of the loop by the thread's
// (parley_loop_pass_seconds), the node's largest memory so far, and another account's add-query and check-query
// (other_account.mjs).
//
//   PARLEY_BIN=build/release/parley node tests/bench/attacks.mjs [a part of an attack's name]
//   PARLEY_BIN=build/release/parley node tests/bench/attacks.mjs --together 30     all of them at once, for 30 seconds
import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { newBot, openRoom, registerBot, startBots } from '../support/bot_server.mjs';
import { forgetLimits, upload } from '../support/documents.mjs';
import { ACCOUNTS, startCluster } from '../support/harness.mjs';
import { keyOf } from '../support/shards.mjs';
import { isStop, newId, no, openWorkflow, withAgents } from '../support/workflow.mjs';
import { clockCalls, takeLongCalls } from './call_clock.mjs';

const PASS = /parley_loop_pass_seconds_bucket\{[^}]*le="([^"]+)"\} (\d+)/g;
const CONTROL = '\u0001';
const MIB = 1 << 20;

const accounts = { ...ACCOUNTS, Other: { secret: 'other-secret', role: 'frontend' } };
for (const name of ['Frontend_1', 'Other']) accounts[name] = { ...accounts[name], max_waiting: 100_000 };
const cluster = await startCluster({ nodes: 1, accounts, args: ['--threads', '1', '--queue-max', '1000000', '--allow-private-endpoints'] });
const bots = await startBots();
await clockCalls(cluster.redis);

async function seedTopics(user, n, text) {
  const names = Array.from({ length: n }, (_, i) => `${user}-${i}`);
  const row = [1000, `Frontend_1 ${user} default 1`, JSON.stringify(user), '"default"', '{}', '', JSON.stringify(text)].join('\n');
  for (let i = 0; i < n; i += 100)
    await Promise.all(names.slice(i, i + 100).map((Topic) => cluster.redis.cmd('HSET', keyOf(Topic, `t:${Topic}`), 'q:1', row, 'title', '"a"', 's:1', 'C "no"', 'seq', 1, `u:${user}`, 1)));
  for (const [i, Topic] of names.entries()) await cluster.redis.cmd('ZADD', keyOf(Topic, `topics:${user}`), i + 1, Topic);
}

const get = (path, query) => cluster.request('GET', path, { as: 'Frontend_1', query, timeout: 300_000 });
const post = (path, body) => cluster.request('POST', path, { as: 'Frontend_1', body, timeout: 300_000 });
const many = (n, one) => Promise.all(Array.from({ length: n }, (_, i) => one(i)));
let rounds = 0; // of all attacks: what must differ from round to round

// Each prepares what it needs, and returns what is done once, or round after round: the responses.
const ATTACKS = {
  'find-topics over 35 MB, 16 at once': async () => {
    await seedTopics('texts', 140, 'a'.repeat(250_000));
    return () => many(16, () => get('/api/find-topics', { OnBehalfOf: 'texts', Text: `${'a'.repeat(255)}b` }));
  },
  'user-topics of 8,000 topics, 32 at once': async () => {
    await seedTopics('lists', 8000, 'a');
    return () => many(32, () => get('/api/user-topics', { OnBehalfOf: 'lists' }));
  },
  'add-query with 150 KB of control characters, 64 at once': async () => () => {
    const round = ++rounds;
    return many(64, (i) => post('/api/add-query', { Topic: `c${round}-${i}`, User: `u${i}`, Query: CONTROL.repeat(150_000) }));
  },
  'evaluations of 3.7 MB of control characters, 8 at once': async () => {
    await registerBot(cluster, 'eva', 'http://127.0.0.1:9/', { emulates: 'Ann' });
    const pair = [{ from: 'Bob', text: CONTROL.repeat(5000) }, { from: 'Ann', text: CONTROL.repeat(5000) }];
    const conversation = Array.from({ length: 62 }, () => pair).flat();
    return () => many(8, (i) => post('/api/evaluations?OnBehalfOf=eve', { bot: 'eva', conversation: [...conversation, { from: 'Bob', text: `${++rounds} ${i}` }] }));
  },
  'answers of 1 MB, checked 200 times at once': async () => {
    const { Topic, Seq } = await cluster.add({ as: 'Frontend_1', User: 'answers', Query: 'long' });
    await cluster.claim({ as: 'Inference_1' });
    await cluster.answer({ as: 'Inference_1', Topic, Seq, Query: 'long', Answer: ['x'.repeat(1_000_000)] });
    return () => many(200, () => get('/api/check-query', { Topic, Seq, Wait: 0 }));
  },
  'rooms, 64 at once': async () => () => many(64, (i) => post(`/api/rooms?OnBehalfOf=r${i}`, { name: 'x'.repeat(100) })),
  'messages to 10 bots that never answer, 8 at once': async () => {
    const hung = await many(10, async (i) => {
      const name = newBot('hung');
      bots.bots[`/${name}`] = () => undefined;
      await registerBot(cluster, name, bots.url(`/${name}`), { user: `owner-${i % 2}` });
      return name;
    });
    const room = await openRoom(cluster);
    return () => many(8, () => room.sayRaw(`${'x'.repeat(60_000)} ${hung.map((name) => `@${name}`).join(' ')}`));
  },
  'exports of a user with 35 MB, 8 at once': async () => {
    await seedTopics('exported', 140, randomBytes(187_500).toString('base64')); // which takes longest to compress
    return () => many(8, () => get('/api/users/exported/export'));
  },
  'questions of 100 runs that wait for a person, 32 at once': async () => {
    await withAgents(cluster, { 'model.verifyRequest': no('x'.repeat(2000)) }, () => many(100, async (i) => {
      const client = await openWorkflow(cluster, { as: 'User_1' });
      client.request(newId('s'), newId('r'), { verb: 'RULE', messageBody: { raw_text: `run ${i} ${'x'.repeat(20_000)}` } });
      await client.until(isStop);
      await client.close();
    }));
    return () => many(32, () => cluster.request('GET', '/api/workflows/questions', { as: 'User_1', timeout: 300_000 }));
  },
  'runs that find no engine, 60 with 100 KiB each': async () => async () => {
    const clients = await many(60, () => openWorkflow(cluster, { as: 'User_2' }));
    for (const client of clients) client.request(newId('s'), newId('r'), { verb: 'CONTENT', messageBody: { raw_text: 'x'.repeat(100_000) } });
    await new Promise((resolve) => setTimeout(resolve, 5000));
    for (const client of clients) await client.close();
    return clients.map(() => ({ status: 'waited' }));
  },
  'uploads of 5 MB that are all comment, 4 at once': async () => async () => {
    await forgetLimits(cluster);
    return many(4, (i) => upload(cluster, { as: 'User_2', name: `${i}.html`, bytes: Buffer.concat([Buffer.from(`<p>${++rounds}<!-- `), Buffer.alloc(5 * MIB, 'words '), Buffer.from('-->')]) }));
  },
};

async function passes() {
  const { text } = await cluster.request('GET', '/metrics?Cluster=false', { node: 0 });
  return new Map([...text.matchAll(PASS)].map(([, le, n]) => [le, Number(n)]));
}

function shown(times) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))].toFixed(1);
  return `${at(0.5)} / ${at(0.99)} / ${at(1)} of ${sorted.length}`;
}

const mostMib = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${cluster.nodes[0].child.pid}/status`, 'utf8'))[1]) / 1024;

// Watches while the attack runs, and says what it took.
async function watched(attack) {
  const before = await passes();
  await takeLongCalls(cluster.redis);
  const other = fork(new URL('other_account.mjs', import.meta.url), [cluster.nodes[0].url, 'Other', accounts.Other.secret]);
  const began = performance.now();
  const statuses = (await attack()).map(({ status }) => status);
  const seconds = (performance.now() - began) / 1000;
  other.send('over');
  const [{ adds, checks }] = await once(other, 'message');
  const long = await takeLongCalls(cluster.redis);
  const after = await passes();
  const over = (le) => after.get('+Inf') - before.get('+Inf') - (after.get(le) - before.get(le));
  return {
    seconds: seconds.toFixed(1), requests: statuses.length, statuses: [...new Set(statuses)].join(),
    'longest calls, ms': long.slice(0, 3).map(([ms, verbs]) => `${ms} ${verbs}`).join('; '), 'calls > 50 ms': long.filter(([ms]) => ms > 50).length,
    'passes > 12.8 ms': over('0.0128'), '> 25.6 ms': over('0.0256'), '> 51.2 ms': over('0.0512'), 'node, MiB': Math.round(mostMib()),
    'add, p50/p99/most ms': shown(adds), 'check': shown(checks),
  };
}

// All of them at once, each round after round.
async function together(seconds) {
  const attacks = [];
  for (const [name, prepare] of Object.entries(ATTACKS)) {
    console.log(`prepares: ${name}`);
    attacks.push(await prepare());
  }
  const end = performance.now() + seconds * 1000;
  const repeat = async (attack) => {
    const all = [];
    while (performance.now() < end) all.push(...(await attack()));
    return all;
  };
  return { together: await watched(async () => (await Promise.all(attacks.map(repeat))).flat()) };
}

async function oneByOne(part) {
  const rows = {};
  for (const [name, prepare] of Object.entries(ATTACKS).filter(([one]) => one.includes(part))) {
    rows[name] = await watched(await prepare());
    console.log(name, rows[name]);
  }
  return rows;
}

const [, , word = '', seconds = '30'] = process.argv;
try {
  console.table(word === '--together' ? await together(Number(seconds)) : await oneByOne(word));
} finally {
  bots.close();
  await cluster.stop();
}
