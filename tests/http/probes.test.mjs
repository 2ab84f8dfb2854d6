// SPDX-License-Identifier: MIT
//
// /livez, /readyz (/healthz, /api/health), /health, /metrics; and their answers
// while Redis is unreachable.
import assert from 'node:assert/strict';
import { parked, ready } from '../cluster/watch.mjs';
import { assertMembers, assertOk, assertProblem, eventually, suite } from '../support/harness.mjs';

const READY = ['/readyz', '/healthz', '/api/health'];

suite('probes', {}, ({ test, cluster }) => {
  test('all probes are 200 on a node that can work, without credentials', async () => {
    for (const node of [0, 1]) {
      for (const path of ['/livez', ...READY]) assert.equal((await cluster.request('GET', path, { node })).status, 200, path);
    }
  });

  test('/health names the state of every dependency', async () => {
    const body = assertOk(await cluster.request('GET', '/health'));
    assertMembers(body, ['status', 'dependencies']);
    assert.ok(['healthy', 'degraded', 'unhealthy'].includes(body.status));
    for (const name of ['redis', 'engines', 'embeddings', 'vectors']) assert.ok(name in body.dependencies, name);
    for (const dependency of Object.values(body.dependencies)) {
      assertMembers(dependency, ['status', 'details']);
      assert.ok(['connected', 'configured', 'error'].includes(dependency.status), `status ${dependency.status}`);
    }
    assert.equal(body.dependencies.redis.status, 'connected');
  });

  test('/metrics is Prometheus text', async () => {
    await cluster.add();
    await cluster.claim();
    const response = await cluster.request('GET', '/metrics', { node: 0 });
    assert.equal(response.status, 200);
    assert.match(response.headers['content-type'], /^text\/plain\b/);
    const lines = response.text.trimEnd().split('\n');
    assert.ok(lines.length > 10);
    const declared = new Set();
    for (const line of lines) {
      if (line.startsWith('# TYPE ')) declared.add(line.split(' ')[2]);
      if (line === '' || line.startsWith('#')) continue;
      assert.match(
        line,
        /^[a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-zA-Z_][a-zA-Z0-9_]*="(\\.|[^"\\])*",?)*\})? (-?[0-9.]+(e[+-]?\d+)?|\+Inf|-Inf|NaN)$/i,
      );
      const name = line.split(/[{ ]/)[0];
      assert.ok(declared.has(name) || declared.has(name.replace(/_(bucket|sum|count)$/, '')), `${name} has a TYPE`);
    }
    assert.ok(lines.some((line) => line.startsWith('parley_')));
    assert.ok(response.text.endsWith('\n'));
  });

  test('work shows in the metrics', async () => {
    const read = async () => {
      const sums = {};
      for (const node of [0, 1]) {
        for (const line of (await cluster.request('GET', '/metrics', { node })).text.split('\n')) {
          const [, name, value] = /^(parley_\w+_total)(?:\{[^}]*\})? (\d+)$/.exec(line) ?? [];
          if (name) sums[name] = (sums[name] ?? 0) + Number(value);
          const [, verb, calls] = /^parley_verb_calls_total\{verb="(\w+)"\} (\d+)$/.exec(line) ?? [];
          if (verb) sums[`verb ${verb}`] = (sums[`verb ${verb}`] ?? 0) + Number(calls);
        }
      }
      return sums;
    };
    const before = await read();
    const { Topic } = await cluster.add();
    await cluster.claim();
    await cluster.answer({ Topic, Seq: 1 });
    const after = await read();
    for (const [name, more] of [
      ['queries_added', 1],
      ['claims', 1],
      ['answers', 1],
    ]) {
      assert.equal(after[`parley_${name}_total`] - before[`parley_${name}_total`], more, name);
    }
    assert.ok(after.parley_requests_total >= before.parley_requests_total + 3);
    assert.ok(after.parley_turns_total > before.parley_turns_total, 'calls of the store are counted');
    for (const verb of ['add', 'claim', 'complete']) assert.ok(after[`verb ${verb}`] > (before[`verb ${verb}`] ?? 0), `${verb} is counted by its name`);
  });

  test('parked polls show in the metrics and leave them again', async () => {
    const parked = async () => {
      const { text } = await cluster.request('GET', '/metrics', { node: 0 });
      const line = text.split('\n').find((one) => /^parley_\w*parked\w*(\{[^}]*\})? \d+$/.test(one));
      return Number(line?.split(' ').pop());
    };
    const before = await parked();
    const polls = [1, 2, 3].map(() => cluster.claimOpen({ wait: 30, node: 0 }));
    await eventually(async () => (await parked()) === before + 3, { what: 'three polls are counted' });
    const served = await Promise.all(polls.map(() => cluster.add()));
    for (const { response } of polls) assertOk(await response);
    assert.equal(served.length, 3);
    await eventually(async () => (await parked()) === before, { what: 'polls that were answered are not counted' });
  });
});

// One server: it comes back empty, and of several such a one is not used before an operator says so (docs/operations/scale.md).
suite('while Redis is away', { servers: 1 }, ({ test, cluster }) => {
  test(
    'a node that lost Redis lives, is not ready, and refuses new work at once',
    async () => {
      await cluster.redis.kill();
      for (const node of [0, 1]) {
        await eventually(async () => (await cluster.request('GET', '/readyz', { node })).status === 503, {
          what: '/readyz fails',
        });
        assert.equal((await cluster.request('GET', '/livez', { node })).status, 200);
        const began = Date.now();
        const refused = await cluster.addRaw({ node });
        assert.equal(assertProblem(refused, 503).code, 'redis_lost');
        assert.ok(refused.headers['retry-after'], 'it says when to come back');
        assert.ok(Date.now() - began < 20_000, 'at once');
        const health = await cluster.request('GET', '/health', { node });
        assert.equal(health.json.status, 'unhealthy');
        assert.equal(health.json.dependencies.redis.status, 'error');
      }
    },
    { sweep: false },
  );

  test(
    'when Redis is back, empty as it may be, the node is ready and serves',
    async () => {
      await cluster.redis.restart();
      for (const node of [0, 1]) {
        await ready(cluster, node);
      }
      const poll = cluster.claimOpen({ wait: 30, node: 0 });
      const { Topic } = await cluster.add({ node: 1 });
      assert.equal(assertOk(await poll.response).Topic, Topic);
      await cluster.answer({ Topic, Seq: 1 });
      assert.deepEqual((await cluster.check({ Topic })).Answer, ['42']);
    },
    { sweep: false },
  );

  test('parked requests survive a restart of Redis', async () => {
    const poll = cluster.claimOpen({ wait: 60, node: 0 });
    await parked(cluster, 0, 1);
    await cluster.redis.restart();
    await ready(cluster, 1);
    const { Topic } = await eventually(
      async () => {
        const response = await cluster.addRaw({ node: 1 });
        return response.status === 200 && response.json;
      },
      { what: 'a query is taken' },
    );
    assert.equal(assertOk(await poll.response).Topic, Topic);
  });

  test('a Redis that hangs is an error in time, not a hang', async () => {
    cluster.redis.pause();
    try {
      const began = Date.now();
      const refused = await cluster.addRaw({ node: 0 });
      assertProblem(refused, 503);
      assert.ok(Date.now() - began < 20_000);
    } finally {
      cluster.redis.resume();
    }
    await eventually(async () => (await cluster.addRaw()).status === 200, { what: 'it works again', ms: 60_000 });
  });
});
