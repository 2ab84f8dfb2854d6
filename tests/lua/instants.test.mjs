// SPDX-License-Identifier: MIT
//
// Redis's clock went back by eleven minutes: what was stored before is of the future. Nobody waits for more than one window, lease
// or rest because of that, and who has died is not taken for alive.
import assert from 'node:assert/strict';
import { eventually } from '../support/harness.mjs';
import { ago, anything, assertFits, lines, scripts, set, soon, stream, tailOf, topicOf, ttl, zset } from '../support/lua.mjs';
import { botOf, FAILURES, HOUR_MS, registryOf, REST_MS, TRIAL_MS } from '../support/lua_bots.mjs';
import { BINARY, Indexer, upload } from '../support/lua_documents.mjs';

const BACK_MS = 660_000;
const LEASE_MS = 150_000;
const then = (ms = 0) => Date.now() + BACK_MS + ms;
const even = (fits) => (found) => fits(found) && found % 2 === 0;
const odd = (fits) => (found) => fits(found) && found % 2 === 1;

scripts('after the clock went back', ({ cases, test, shard }) => {
  test('a limiter counts what it had admitted for one window', async () => {
    const requests = Object.fromEntries([1, 2, 3].map((i) => [`r${i}`, then(i) * 1000]));
    await shard.seed({ 'limit:ask:alice': zset(requests) });
    const [word, ms] = (await shard.call('admit', 0, 'o:alice', 'ask:alice:3:60')).split('\n');
    assert.equal(word, 'limited');
    assert.ok(ms <= 60_000, `${ms} ms`);
    for (const at of Object.values((await shard.get('limit:ask:alice')).value)) assert.ok(at / 1000 < Date.now() + 1000);
    assert.match(await shard.call('admit', 0, 'o:alice', 'ask:alice:4:60'), /^ok\n4 0 \d+$/);
  });

  cases([
    {
      name: 'what a node stated of an account is void',
      before: () => ({ 'rate:A': ttl(10, { n2: `${then()} 900`, n3: `${Date.now()} 7` }) }),
      call: ['rates', 'A', 0, 0],
      reply: (found) => found.endsWith('\n7 0'),
      after: () => ({ 'rate:A': ttl(10, { n3: (found) => found.endsWith(' 7') }) }),
    },
    {
      name: 'work for another shard is taken again soon',
      before: () => ({ outbox: zset({ 'aa t:1': then(10_000) }) }),
      call: ['outbox', '1'],
      reply: '',
      after: () => ({ outbox: zset({ 'aa t:1': soon(10_000) }) }),
    },
    {
      name: 'a delivery that a bot had taken comes back soon',
      before: () => ({ 'dlv_pull:echo': zset({ one: then(30_000) }) }),
      call: ['delivery_pull', 'echo', ''],
      reply: (found) => found.startsWith('none\n') && Number(found.slice(5)) <= 30_000,
      after: () => ({ 'dlv_pull:echo': zset({ one: soon(30_000) }) }),
    },
    {
      name: 'deliveries and evaluations of a driver that has died come back with one lease, and a bot that will answer later has its time',
      before: () => ({
        clock: { bots: then() },
        'dlv_due:F:1': zset({ called: then(15_000), accepted: then(900_000) }),
        'dlv:called': { fence: 7 },
        'dlv:accepted': { fence: '' },
        'evaluation_due:F:alice': zset({ two: then(15_000), three: then(3_840_000) }),
      }),
      call: ['bots_due'],
      reply: 'none',
      after: () => ({ clock: { bots: ago() }, 'dlv_due:F:1': zset({ called: soon(15_000), accepted: soon(BACK_MS + 900_000) }), 'evaluation_due:F:alice': zset({ two: soon(15_000), three: soon(15_000) }) }),
    },
    {
      name: 'and in no less than what they were given while the clock continues as it should',
      before: () => ({ clock: { bots: Date.now() - 1000 }, 'dlv_due:F:1': zset({ one: Date.now() + 70_000 }), 'dlv:one': { fence: 7 }, 'evaluation_due:F:alice': zset({ two: Date.now() + 3_800_000 }) }),
      call: ['bots_due'],
      reply: 'none',
      after: () => ({ clock: { bots: ago() }, 'dlv_due:F:1': zset({ one: soon(70_000) }), 'evaluation_due:F:alice': zset({ two: soon(3_800_000) }) }),
    },
    {
      name: 'a room whose deletion has stopped is deleted, as soon as any other',
      before: () => ({ rooms_going: zset({ den: then() }) }),
      call: ['bots_due'],
      reply: 'none',
      after: () => ({ rooms_going: zset({ den: soon(0) }) }),
    },
    {
      name: 'a run of a driver that has died comes back with one lease, and a question has the time that it had',
      before: () => ({ clock: { workflow: then() }, 'wf_due:F:alice': zset({ 'a.1': then(6000), 'a.2': then(60_000) }), 'wfr:a.1': { status: 'running' }, 'wfr:a.2': { status: 'waiting' } }),
      call: ['workflow_due', ''],
      reply: '0',
      after: () => ({ clock: { workflow: ago() }, 'wf_due:F:alice': zset({ 'a.1': soon(6000), 'a.2': soon(BACK_MS + 60_000) }) }),
    },
    {
      name: 'a job that waits for its indexer to be able to read it waits for one lease of it',
      before: () => ({ clock: { jobs: then() }, delayed_jobs: zset({ one: then(10_000) }) }),
      call: ['job_steal', 'i1', 30_000],
      reply: 'none',
      after: () => ({ clock: { jobs: ago() }, delayed_jobs: zset({ one: soon(30_000) }), jobs: stream() }),
    },
    {
      name: 'a delivery that is taken is as old as its message, and not younger than nothing',
      before: () => ({ 'dlv_due:F:x': zset({ one: 1 }), 'dlv:one': { state: 'waiting', kind: 'b', bot: 'echo', attempt: 0, created: then(), account: 'F', user: 'x' } }),
      call: ['delivery_take', 1],
      reply: lines('one', 1, 'echo', 'call', 0, 0, 'F', 'x'),
      after: () => ({ 'dlv_due:F:x': zset({ one: soon(15_000) }), 'dlv:one': { state: 'leased', kind: 'b', bot: 'echo', attempt: 0, created: anything, account: 'F', user: 'x', fence: 1, node: 'n1', taken: 1 }, meta: { lease: 1, depth: 0, vt: '0.000000' } }),
    },
  ]);

  test('a nonce that was used tomorrow is used', async () => {
    const day = Math.floor(Date.now() / 86_400_000);
    await shard.seed({ [`nonces:${day + 1}`]: set('sixteen bytes 01') });
    await shard.turn([['sync', '{}', '', 0, 0, 0]]);
    assert.equal((await shard.turn([['nonce', 1]], { nonces: ['sixteen bytes 01'] })).replies[0], 'replay');
  });

  test('the former key of a bot is not good for longer', async () => {
    await shard.seed(registryOf({ generation: 2, rotated: then(HOUR_MS) }));
    const isGood = async () => botOf((await shard.call('bot_find', 'echo', '')).split('\n').slice(2)).isFormerGood;
    assert.equal(await isGood(), '0');
    await shard.cmd('HSET', shard.key('bot:echo'), 'rotated', Date.now());
    assert.equal(await isGood(), '1');
  });

  test('leases end in two leases at most, and one that no engine had stays so', async () => {
    const t = topicOf([`P 7 1 E 1 n2`, `P 8 1 E 1 n2`]);
    await shard.seed({ 't:t': t, leases: zset({ '7 t': 2 * Math.round(then(LEASE_MS) / 2), '8 t': 2 * Math.round(then(2000) / 2) + 1, '9 u': 2 * Math.round((Date.now() + LEASE_MS) / 2) }), lookups: zset({ aa: then(LEASE_MS) }) }, { isBare: true });
    await shard.turn([['sync', '{}', '', 0, 0, 0]]);
    assertFits((await shard.get('leases')).value, { '7 t': even(soon(2 * LEASE_MS)), '8 t': odd(soon(2 * LEASE_MS)), '9 u': even(soon(LEASE_MS)) });
    assertFits((await shard.get('lookups')).value, { aa: soon(2 * LEASE_MS) });
  });

  test('a node that has died leaves the list as soon as any other', async () => {
    await shard.seed({ nodes: zset({ dead: then() }) });
    await shard.turn([['sync', '{}', '', 0, 0, 0]]);
    assertFits((await shard.get('nodes')).value, { dead: soon(0), n1: soon(0) });
  });

  test('an engine that has not been heard of since is not there, and one that rested rests no longer than it said', async () => {
    const engines = (info) => ({ engines: { 'E box': info } });
    const stated = { waiting: (at) => `${at} {"Models":"*","State":"waiting","ForMs":60000}`, resting: (at) => `${at} {"RestingUntilMs":${at + 20_000}}` };
    const seen = async () => (await shard.call('status', 0)).split('\n')[18];
    for (const [info, n] of [[stated.waiting(then()), 0], [stated.waiting(Date.now()), 1], [stated.resting(then()), 1]]) {
      await shard.cmd('FLUSHALL');
      await shard.seed(engines(info));
      assert.equal(await seen(), String(n), info);
    }
    assert.equal(await shard.call('ask', '', 'q', 'alice', 'Frontend_1', 'default', 1, tailOf(), ''), 'no_engine\n20');
    await shard.cmd('DEL', shard.key('engines'));
    await shard.seed(engines(stated.waiting(then())));
    assert.equal(await shard.call('ask', '', 'q', 'alice', 'Frontend_1', 'default', 1, tailOf(), ''), 'no_engine');
  });

  test('a bot is tried again', async () => {
    const found = async () => {
      const [, may, ...rest] = (await shard.call('bot_find', 'echo', '1')).split('\n');
      return { may, ...botOf(rest) };
    };
    await shard.seed(registryOf({ failures: FAILURES, open_until: then(REST_MS), trial_until: then(TRIAL_MS) }));
    const { may, circuit, restMs } = await found();
    assert.deepEqual([may, circuit], ['go', 'half']);
    assert.ok(restMs <= REST_MS);
    assert.equal((await found()).may, 'wait', 'by one at a time');
  });
});

// The checksum of what DUMP returns: CRC-64 with the polynomial of Jones, bits in reverse.
function checksumOf(bytes) {
  let sum = 0n;
  for (const byte of bytes) {
    sum ^= BigInt(byte);
    for (let bit = 0; bit < 8; bit++) sum = sum & 1n ? (sum >> 1n) ^ 0x95ac9329ac4bc9b5n : sum >> 1n;
  }
  return sum;
}

// An entry of the stream was read at that time: Redis takes no time of the future, except in a restored key.
async function readAt(shard, entry, ms) {
  const dump = Buffer.from(await shard.cmd('DUMP', shard.key('jobs')), 'latin1');
  const id = Buffer.alloc(16);
  entry.split('-').forEach((part, i) => id.writeBigUInt64BE(BigInt(part), 8 * i));
  let at = dump.indexOf(id);
  while (Math.abs(Number(dump.readBigUInt64LE(at + 16)) - Date.now()) > 60_000) at = dump.indexOf(id, at + 1);
  dump.writeBigUInt64LE(BigInt(ms), at + 16);
  dump.writeBigUInt64LE(checksumOf(dump.subarray(0, -8)), dump.length - 8);
  await shard.cmd('RESTORE', shard.key('jobs'), 0, dump.toString('latin1'), 'REPLACE');
}

scripts('a job that is indexed when the clock goes back', ({ test }) => {
  test('is taken over after one lease of an indexer that has died', async (shard) => {
    await upload(shard);
    const { entry, job } = await new Indexer(shard).take();
    await readAt(shard, entry, then());
    const silent = () => shard.cmd('XPENDING', shard.key('jobs'), 'indexers', 'IDLE', 1, '-', '+', 10);
    assert.deepEqual(await silent(), [], 'for as long as the clock went back');
    await shard.cmd('HSET', shard.key('clock'), 'jobs', then());
    const other = new Indexer(shard, 'i2');
    assert.equal(await other.steal(600_000), undefined);
    await eventually(async () => (await silent()).length === 1, { what: 'its silence is counted' });
    assert.deepEqual(await other.steal(1), { entry, job });
  });

  test('and so is one that was begun without its entry', async (shard) => {
    await upload(shard);
    const { job } = await new Indexer(shard).take();
    await shard.cmd('HSET', shard.key(`job:${job}`), 'updated', then());
    assert.match(await shard.call('job_begin', '', job, 'i2', 30_000), /^ok\n2\n2\n/);
  });
}, BINARY);
