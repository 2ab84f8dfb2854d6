// SPDX-License-Identifier: MIT
//
// Redis's clock went back by eleven minutes: what was stored before is of the future. Nobody waits for more than one window, lease
// or rest because of that, and who has died is not taken for alive.
import assert from 'node:assert/strict';
import { assertFits, scripts, soon, tailOf, topicOf, ttl, zset } from '../support/lua.mjs';
import { botOf, FAILURES, registryOf, REST_MS, TRIAL_MS } from '../support/lua_bots.mjs';

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
      name: 'what was leased to drivers of bots ends as late as a lease may',
      before: () => ({ 'dlv_due:F:1': zset({ one: then(900_000) }), 'evaluation_due:F:alice': zset({ two: then(3_840_000) }) }),
      call: ['bots_look'],
      reply: 'none',
      after: () => ({ 'dlv_due:F:1': zset({ one: soon(900_000) }), 'evaluation_due:F:alice': zset({ two: soon(3_840_000) }) }),
    },
  ]);

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
    const seen = async () => (await shard.call('status', 0)).split('\n')[11];
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
