// SPDX-License-Identifier: MIT
//
// `parley bench`: that each mode does what it says that it measures, and leaves nothing open. What is measured is nobody's test.
import assert from 'node:assert/strict';
import net from 'node:net';
import { assertOk, eventually, runParley, startProcess, suite } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';
import { metric } from '../cluster/watch.mjs';

ownShards(); // a client: the same on any number of shards

const MODES = {
  split: ({ requests, cycles }) => assert.ok(requests >= 4 * cycles - 100, `${requests} requests`),
  inline: ({ requests, cycles }) => assert.ok(requests >= 4 * cycles - 100, `${requests} requests`),
  // Two of them, and a claim where an answer found no next one; those under way at both ends belong to no cycle.
  compact: ({ requests, cycles }) => assert.ok(requests >= 2 * cycles - 100 && requests <= 3 * cycles + 100, `${requests} requests in ${cycles} cycles`),
};

// A relay in front of a node whose connections a test may cut.
async function startRelay({ url }) {
  const { hostname, port } = new URL(url);
  const sockets = new Set();
  const server = net.createServer((client) => {
    const node = net.connect(Number(port), hostname);
    for (const [socket, other] of [[client, node], [node, client]]) {
      sockets.add(socket);
      socket.setNoDelay(true).pipe(other);
      socket.on('error', () => {}).on('close', () => other.destroy());
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return { url: `http://127.0.0.1:${server.address().port}`, cut, stop: () => (server.close(), cut()) };
}

suite('parley bench', {}, ({ test, cluster }) => {
  const bench = async (...args) => {
    const url = cluster.nodes.map((node) => node.url).join(',');
    const measure = (seconds) => runParley(['bench', '--url', url, '--accounts', cluster.accountsFile, '--seconds', seconds, '--conns', 6, ...args], { timeout: 60_000 });
    const end = await measure(1);
    // On a starved machine a whole second may pass without a cycle; then it measures again. Unfinished cycles fail the test.
    const report = args.includes('--json') && end.stdout ? JSON.parse(end.stdout)[args[args.indexOf('--mode') + 1]] : undefined;
    return report?.cycles === 0 && report.errors === 0 && report.unfinished === 0 ? measure(10) : end;
  };

  for (const [mode, fits] of Object.entries(MODES)) {
    test(`${mode}: its cycles have answers, without errors, and nothing is left open`, async () => {
      const { code, stdout, stderr } = await bench('--mode', mode, '--json');
      assert.equal(code, 0, stderr);
      const report = JSON.parse(stdout)[mode];
      assert.equal(report.errors, 0, report.first_error);
      assert.equal(report.unfinished, 0);
      assert.ok(report.cycles > 0);
      fits(report);
      assert.deepEqual(await cluster.claim(), { Topic: null, Queries: null });
    });
  }

  // Engines send no request: two of a cycle are left, or one.
  for (const [mode, n] of [['split', 2], ['compact', 1]]) {
    test(`${mode}, with engines at sockets: its cycles have answers, without errors, and nothing is left open`, async () => {
      const sockets = async (name) => (await Promise.all(cluster.nodes.map((node) => metric(cluster, node, name)))).reduce((sum, one) => sum + one, 0);
      const running = bench('--mode', mode, '--engine-socket', 'on', '--engines', 5, '--slots', 2, '--json');
      await eventually(async () => (await sockets('parley_engine_sockets_open')) === 3, { what: 'three sockets for five slots', every: 5 });
      const { code, stdout, stderr } = await running;
      assert.equal(code, 0, stderr);
      const { engine_socket: isSocket, [mode]: report } = JSON.parse(stdout);
      assert.equal(isSocket, true);
      assert.deepEqual([report.errors, report.unfinished, report.reconnects], [0, 0, 0], report.first_error);
      assert.ok(report.cycles > 0 && report.requests >= n * report.cycles - 100 && report.requests <= n * report.cycles + 100, `${report.requests} requests in ${report.cycles} cycles`);
      await assertNothingIsOpen();
    });
  }

  // On a starved machine they begin late, but never more of them than have been due since the start.
  for (const mode of Object.keys(MODES)) {
    test(`--rate: ${mode} begins that many cycles a second`, async () => {
      const begunAt = Date.now();
      const { code, stdout, stderr } = await bench('--mode', mode, '--rate', 20, '--seconds', 2, '--json');
      const dueCycles = (20 * (Date.now() - begunAt)) / 1000 + 1;
      assert.equal(code, 0, stderr);
      const { rate, [mode]: report } = JSON.parse(stdout);
      assert.equal(rate, 20);
      assert.equal(report.errors, 0, report.first_error);
      assert.equal(report.unfinished, 0);
      assert.ok(report.cycles > 0 && report.cycles <= dueCycles, `${report.cycles} cycles of ${dueCycles}`);
    });
  }

  // A million are due in the first second, the warm-up, so those that are measured have waited for most of it, on any machine.
  test('--rate: a cycle that begins late counts from when it was due', async () => {
    const { code, stdout } = await bench('--mode', 'split', '--rate', 1_000_000, '--seconds', 2, '--json');
    assert.equal(code, 0);
    const { split } = JSON.parse(stdout);
    assert.ok(split.p50_ms > 500, `p50 ${split.p50_ms} ms`); // one second of warm-up and more
  });

  test('--tokens on: each account logs in once, and no other request uses a nonce', async () => {
    const used = async () => {
      const keys = await cluster.redis.cmd('KEYS', 'parley:*nonces:*');
      return (await Promise.all(keys.map((key) => cluster.redis.cmd('SCARD', key)))).reduce((sum, n) => sum + n, 0);
    };
    const before = await used();
    const { code, stdout, stderr } = await bench('--mode', 'split', '--tokens', 'on', '--json');
    assert.equal(code, 0, stderr);
    const { cycles, errors } = JSON.parse(stdout).split;
    assert.ok(cycles > 0);
    assert.equal(errors, 0);
    assert.equal((await used()) - before, 2);
  });

  for (const mode of ['wake', 'wakecheck']) {
    test(`${mode}: as many wakes as were asked for, without errors`, async () => {
      const { code, stdout, stderr } = await bench('--mode', mode, '--samples', 10, '--json');
      assert.equal(code, 0, stderr);
      const { samples, errors, sent_p50_us: sent } = JSON.parse(stdout)[mode];
      assert.deepEqual({ samples, errors }, { samples: 10, errors: 0 });
      assert.ok(sent > 0);
    });
  }

  // The first second of wakes does not count: about fourteen of them.
  test('a run that is ended by a signal reports what it has measured', async () => {
    const running = startProcess(['bench', '--url', cluster.nodes[0].url, '--accounts', cluster.accountsFile, '--mode', 'wake', '--samples', 100_000, '--json']);
    const topics = async () => (await cluster.redis.cmd('KEYS', 'parley:*t:bench-*')).length;
    const before = await topics();
    await eventually(async () => (await topics()) > before + 30, { what: 'thirty wakes' });
    running.child.kill('SIGTERM');
    assert.deepEqual(await running.exit(), { code: 0, signal: null }, running.stderr);
    const { samples } = JSON.parse(running.stdout).wake;
    assert.ok(samples > 0 && samples < 100_000, `${samples} samples`);
  });

  // The report without its times. `delivered`: viewers have all pieces except those on their way at either end.
  function assertStreamed(report, { streams, viewers, piece }) {
    const { errors, refused, resets, unequal, unfinished, first_error: first } = report;
    assert.deepEqual({ errors, refused, resets, unequal, unfinished, first }, { errors: 0, refused: 0, resets: 0, unequal: 0, unfinished: 0, first: null });
    assert.ok(report.sent > 0 && report.sent % piece === 0, `${report.sent} sent`);
    const most = 4 * streams * viewers * piece;
    assert.ok(Math.abs(report.delivered - report.sent * viewers) <= most, `${report.delivered} delivered of ${report.sent} to ${viewers}`);
    assert.ok(report.p50_ms > 0 && report.p50_ms <= report.p99_ms && report.p99_ms <= report.max_ms);
    for (const side of ['node', 'redis', 'client']) assert.ok(report[`${side}_cpu_ms_per_1k`] >= 0, side);
  }

  async function assertNothingIsOpen() {
    assert.deepEqual(await cluster.claim(), { Topic: null, Queries: null });
    const keys = await cluster.redis.cmd('KEYS', 'parley:*leases');
    for (const key of keys) assert.equal(await cluster.redis.cmd('ZCARD', key), 0, key);
  }

  for (const [what, nodes, words, shape] of [
    ['two nodes', 2, ['--streams', 3, '--viewers', 2, '--per-piece', 2, '--token-rate', 40], { streams: 3, viewers: 2, piece: 2 }],
    ['one node', 1, ['--streams', 2, '--token-rate', 30, '--tokens', 'on'], { streams: 2, viewers: 1, piece: 1 }],
    ['two nodes, over sockets', 2, ['--engine-socket', 'on', '--slots', 2, '--streams', 5, '--viewers', 2, '--token-rate', 40], { streams: 5, viewers: 2, piece: 1 }],
    ['one node, over a socket', 1, ['--engine-socket', 'on', '--streams', 3, '--per-piece', 2, '--tokens', 'on'], { streams: 3, viewers: 1, piece: 2 }],
    ['two nodes, in batches', 2, ['--engine-socket', 'on', '--streams', 5, '--batch', 3, '--tokens', 'on'], { streams: 5, viewers: 1, piece: 1 }],
  ]) {
    test(`tokens: on ${what} each viewer reads what its engine wrote, and nothing is left open`, async () => {
      const url = cluster.nodes.slice(0, nodes).map((node) => node.url).join(',');
      const { code, stdout, stderr } = await bench('--url', url, '--mode', 'tokens', ...words, '--json');
      assert.equal(code, 0, stderr);
      assertStreamed(JSON.parse(stdout).tokens, shape);
      await assertNothingIsOpen();
    });
  }

  // The answer that is given at the end is the whole text.
  test('tokens: what viewers read is stored as the answer', async () => {
    const { code, stderr } = await bench('--mode', 'tokens', '--streams', 1, '--token-rate', 20, '--users', 1);
    assert.equal(code, 0, stderr);
    const topics = Object.keys(assertOk(await cluster.request('GET', '/api/user-topics', { as: 'Frontend_1', query: { OnBehalfOf: 'bench_0' } })));
    const { Answer, Think } = await cluster.check({ Topic: topics.at(-1) });
    assert.equal(Think, null);
    assert.match(Answer[0], /^(?:[a-z]{3} ){20,}$/);
  });

  test('tokens: a viewer whose connection breaks resumes, and misses nothing', async () => {
    const relay = await startRelay(cluster.nodes[1]);
    const cutting = setInterval(relay.cut, 300);
    const { code, stdout, stderr } = await bench('--url', `${cluster.nodes[0].url},${relay.url}`, '--mode', 'tokens', '--streams', 3, '--token-rate', 50, '--seconds', 2, '--json');
    clearInterval(cutting);
    relay.stop();
    assert.equal(code, 0, stderr);
    const { reconnects, unequal, unfinished, delivered } = JSON.parse(stdout).tokens;
    assert.ok(reconnects >= 3, `${reconnects} reconnects`);
    assert.deepEqual({ unequal, unfinished }, { unequal: 0, unfinished: 0 });
    assert.ok(delivered > 0);
  });

  test('tokens: an engine whose socket breaks sends again what is not stored, and no viewer misses anything', async () => {
    const relay = await startRelay(cluster.nodes[0]);
    const cutting = setInterval(relay.cut, 700);
    const { code, stdout, stderr } = await bench('--url', `${relay.url},${cluster.nodes[1].url}`, '--mode', 'tokens', '--engine-socket', 'on', '--streams', 3, '--seconds', 3, '--json');
    clearInterval(cutting);
    relay.stop();
    assert.equal(code, 0, stdout + stderr);
    const { reconnects, unequal, unfinished, refused, delivered } = JSON.parse(stdout).tokens;
    assert.ok(reconnects >= 3, `${reconnects} reconnects`);
    assert.deepEqual({ unequal, unfinished, refused }, { unequal: 0, unfinished: 0, refused: 0 });
    assert.ok(delivered > 0);
  });

  test('tokens: questions that an engine at a socket finds in the queue are answered, out of the way', async () => {
    const topic = `bench-not-mine-${Date.now()}`;
    await cluster.add({ Topic: topic });
    const { code, stdout, stderr } = await bench('--mode', 'tokens', '--engine-socket', 'on', '--streams', 2, '--json');
    assert.equal(code, 0, stderr);
    assertStreamed(JSON.parse(stdout).tokens, { streams: 2, viewers: 1, piece: 1 });
    assert.match((await cluster.check({ Topic: topic })).Answer[0], /^About as far/);
  });

  test('the table has a row for the sockets of mode tokens', async () => {
    const { code, stdout } = await bench('--mode', 'tokens', '--streams', 2, '--engine-socket', 'on');
    assert.equal(code, 0);
    assert.match(stdout, /^socket +\d+ +\d+/m);
  });

  test('the table has a row for the routes of mode tokens', async () => {
    const { code, stdout } = await bench('--mode', 'tokens', '--streams', 2);
    assert.equal(code, 0);
    assert.match(stdout, /^2 answers of 50 tokens per second, 1 in each piece, 1 viewer each/m);
    assert.match(stdout, /^routes +\d+ +\d+/m);
  });

  test('the table has a row for compact', async () => {
    const { code, stdout } = await bench('--mode', 'compact', '--seconds', 4);
    assert.equal(code, 0);
    assert.match(stdout, /^compact +\d+/m);
  });
});
