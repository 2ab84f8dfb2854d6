// SPDX-License-Identifier: MIT
//
// `parley show`: what the nodes have at the moment, asked through Redis. Two processes, one of two threads.
import assert from 'node:assert/strict';
import { assertOk, eventually, makeFolder, newTopic, runParley, suite } from '../support/harness.mjs';
import { parked, ready, stop } from './watch.mjs';

const TABLES = ['nodes', 'polls', 'classes', 'claims', 'watches', 'connections', 'verbs', 'memory'];

suite('parley show', { nodes: 1, args: ['--rescan-seconds', '1'] }, ({ test, cluster }) => {
  const run = (what, ...args) => runParley(['show', ...[what].flat(), '--redis', cluster.redis.url, ...args]);
  const rows = async (what, ...args) => {
    const { code, stdout, stderr } = await run(what, '--json', ...args);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^(parley: node [\w, ]+: not listening: [^\n]+\n)?$/); // those of tests before
    return JSON.parse(stdout);
  };
  // The nodes are known to Redis from their first sync on.
  const nodes = async (n) => eventually(async () => {
    const found = await rows('nodes');
    return found.length === n && found;
  }, { what: `${n} nodes` });
  let two;
  const start = async () => {
    two ??= await cluster.startNode({ threads: 2 });
    return nodes(3);
  };

  test('every thread of every process is a node, and each table has their rows', async () => {
    const found = await start();
    assert.equal(new Set(found.map(({ node }) => node)).size, 3);
    assert.equal(new Set(found.map(({ pid }) => pid)).size, 2);
    for (const row of found) {
      assert.equal(row.state, 'serving');
      assert.ok([cluster.nodes[0].child.pid, two.child.pid].includes(row.pid));
    }
    for (const what of TABLES) assert.ok(Array.isArray(await rows(what)), what);
    for (const { rss_bytes, scratch_bytes } of await rows('memory')) assert.ok(rss_bytes > 1 << 20 && scratch_bytes >= 0);
  });

  test('one node is asked alone, and one that is not there is refused', async () => {
    const [{ node }] = await start();
    assert.deepEqual((await rows('connections', '--node', node)).map((row) => row.node), [node]);
    const { code, stdout, stderr } = await run('nodes', '--node', 'nowhere');
    assert.deepEqual([code, stdout, stderr], [1, '', 'parley: no node has that id: see parley show nodes\n']);
  });

  test('parked polls and their classes are shown, drained ones as such', async () => {
    await start();
    const polls = [0, 0, 1].map((node) => cluster.claimOpen({ as: 'Inference_1', wait: 60, detail: true, engine: `gpu ${node}${Math.random()}`, models: 'llama3', node }));
    const found = await eventually(async () => {
      const all = await rows('polls');
      return all.filter(({ state }) => state === 'parked').length === 3 && all;
    });
    for (const row of found) {
      assert.equal(row.account, 'Inference_1');
      assert.match(row.engine, /^gpu [01]/);
      assert.equal(row.models, 'llama3');
      assert.ok(row.waited_ms >= 0);
    }
    const sums = (all) => all.filter(({ models }) => models === 'llama3').reduce((n, { parked: one }) => n + one, 0);
    assert.equal(sums(await rows('classes')), 3);
    const drain = (Drain) => cluster.request('POST', '/api/drain-engine', { as: 'Operator_1', body: { User: 'Inference_1', Drain } });
    assertOk(await drain(true));
    await eventually(async () => (await rows('classes')).filter(({ account }) => account === 'Inference_1').every(({ drained }) => drained === 1));
    assertOk(await drain(false));
    for (const poll of polls) poll.abort();
    await eventually(async () => (await rows('polls')).length === 0);
    assert.equal(sums(await rows('classes')), 0);
  });

  test('a query that somebody waits for is shown once a node, with how many wait', async () => {
    await start();
    const { Topic, Seq } = await cluster.add({ Topic: newTopic('heron/') }); // a letter that names in keys do not have
    const checks = [0, 0, 1].map((node) => cluster.checkOpen({ Topic, Seq, wait: 60, node }));
    const found = await eventually(async () => {
      const all = await rows('watches');
      return all.reduce((n, { waiting }) => n + waiting, 0) === 3 && all;
    });
    assert.deepEqual([...new Set(found.map((row) => `${row.topic} ${row.seq}`))], [`${Topic} ${Seq}`]);
    assert.deepEqual(found.map(({ waiting }) => waiting).sort(), [1, 2]);
    for (const check of checks) check.abort();
    await eventually(async () => (await rows('watches')).length === 0);
  });

  test('a claim on its way is shown until Redis knows that its engine has it', async () => {
    await start();
    const slow = await cluster.startNode({ args: ['--delivery-seconds', '60', '--rescan-seconds', '1'] });
    await nodes(4);
    const { Topic } = await cluster.add();
    const { Lease } = await cluster.claim({ detail: true, node: slow });
    const found = await eventually(async () => (await rows('claims')).find((row) => row.topic === Topic));
    assert.deepEqual([found.lease, found.state], [Lease, 'delivered']);
    await slow.stop();
    cluster.nodes.splice(cluster.nodes.indexOf(slow), 1);
    await nodes(3);
  });

  test('verbs are counted by the node that called them', async () => {
    const all = await start();
    const { node } = all.find(({ pid }) => pid === cluster.nodes[0].child.pid);
    const count = async () => (await rows('verbs', '--node', node)).find(({ verb }) => verb === 'add');
    const before = (await count()) ?? { calls: 0, us: 0 };
    for (let i = 0; i < 3; i++) await cluster.add({ node: 0 });
    const after = await count();
    assert.deepEqual([after.calls - before.calls, after.errors], [3, 0]);
    assert.ok(after.us > before.us);
  });

  test('columns are aligned, and a name cannot steer the terminal or break the table', async () => {
    await start();
    const poll = cluster.claimOpen({ as: 'Inference_1', wait: 60, engine: 'gpu\u001b[31m\u202e\nß', node: 0 });
    await parked(cluster, 0, 1);
    const { code, stdout, stderr } = await run('polls');
    assert.equal(code, 0, stderr);
    const [head, line, ...rest] = stdout.split('\n');
    assert.deepEqual(rest, ['']);
    assert.match(head, /^node +account +engine +models +state +waited_ms$/);
    assert.match(line, /^n[0-9a-f]+ +Inference_1 +gpu\[31mß +\* +parked +\d+$/);
    for (const name of ['account', 'engine', 'models', 'state']) {
      assert.match(line.slice(head.indexOf(name) - 2), /^ {2}\S/, name);
    }
    assert.equal([...head].length, [...line].length);
    assert.doesNotMatch((await run('polls', '--json')).stdout, /\u001b|\u202e|\\u/);
    poll.abort();
  });

  test('a node that was killed is named, and the others are shown', async () => {
    await start();
    const dead = await cluster.startNode();
    const found = await nodes(4);
    const [gone] = found.filter(({ pid }) => pid === dead.child.pid);
    await dead.kill();
    const { code, stdout, stderr } = await run('nodes', '--json');
    assert.equal(code, 0);
    assert.match(stderr, new RegExp(`^parley: node (\\w+, )*${gone.node}(, \\w+)*: not listening: it has ended or lost Redis\n$`));
    assert.deepEqual(JSON.parse(stdout).map(({ node }) => node), found.map(({ node }) => node).filter((node) => node !== gone.node));
    const alone = await run('nodes', '--node', gone.node);
    assert.deepEqual([alone.code, alone.stdout], [1, '']);
  });

  test('a node that hangs is named after two seconds, and the others are shown', async () => {
    await start();
    const hanging = await cluster.startNode();
    const found = (await nodes(4)).find(({ pid }) => pid === hanging.child.pid);
    await stop(hanging);
    const { code, stdout, stderr } = await run('nodes', '--json');
    assert.equal(code, 0);
    assert.ok(stderr.endsWith(`parley: node ${found.node}: no answer within 2 seconds: it is stuck, or its version does not support parley show\n`), stderr);
    assert.equal(JSON.parse(stdout).length, 3);
    hanging.signal('SIGCONT');
    await nodes(4);
    await hanging.kill();
  });

  test('without a node, without Redis and with a wrong word it ends with one line', async () => {
    const none = await runParley(['show', 'nodes', '--redis', cluster.redis.url, '--key-prefix', 'other:{0}:']);
    assert.deepEqual([none.code, none.stdout, none.stderr], [1, '', 'parley: no node runs on this Redis with this --key-prefix\n']);
    const away = await runParley(['show', 'nodes', '--redis', 'redis://127.0.0.1:1/0']);
    assert.deepEqual([away.code, away.stdout], [1, '']);
    assert.match(away.stderr, /^parley: Redis at 127\.0\.0\.1:1\/0 \(--redis\): Connection refused\. [^\n]+\n$/);
    for (const [words, why] of [[['nodes', '--url', 'http://127.0.0.1:1'], /--url is for the overview/], [['--url', 'http://127.0.0.1:1', '--redis', 'redis://127.0.0.1:1/0'], /give one of them/], [['--url', 'http://127.0.0.1:1'], /--user and --secret-file are missing/], [['nothing\u001b'], /show takes nodes, .* or memory, not 'nothing'/], [['nodes', 'polls'], /one word/]]) {
      const wrong = await runParley(['show', ...words]);
      assert.deepEqual([wrong.code, wrong.stdout], [2, '']);
      assert.match(wrong.stderr, why);
      assert.match(wrong.stderr, /^parley: [^\n]+\n$/);
    }
  });

  const OVERVIEW = /^queue +\d+ waiting(, the oldest for [\d.]+ s)?; \d+ claims? with engines; \d+ open lookups?\n +\d+ added, \d+ done, \d+ failed in the last \d+ s\nengines +\d+ slots?: \d+ waiting, \d+ working, \d+ resting\nnodes +\d+ processes, \d+ threads\n/;

  test('without a word an overview: from Redis, and from a node, which also knows the accounts', async () => {
    await start();
    const folder = makeFolder();
    const operator = ['--url', cluster.nodes[0].url, '--user', 'Operator_1', '--secret-file', folder.file('secret', cluster.accounts.Operator_1.secret)];
    await cluster.add({ Topic: newTopic() });
    for (const [args, hasAccounts] of [[['--redis', cluster.redis.url], false], [operator, true]]) {
      const { code, stdout, stderr } = await runParley(['show', ...args]);
      assert.deepEqual([code, stderr], [0, '']);
      assert.match(stdout, OVERVIEW);
      assert.equal(/^accounts +\d+ frontend, \d+ user, \d+ engine, 1 operator$/m.test(stdout), hasAccounts, stdout);
      assert.match(stdout, /^documents +\d+ being indexed\nruns +\d+ of workflows[^\n]*; \d+ evaluations?, \d+ batch(es)?\nbots +\d+ messages? on the way\ntroubles +\S/m);
      const json = await runParley(['show', '--json', ...args]);
      const { Depth, Work, Troubles, Nodes, Accounts } = JSON.parse(json.stdout);
      assert.deepEqual([json.code, Depth, Work.Runs, Nodes.length >= 3, Array.isArray(Troubles), Accounts !== undefined], [0, 1, 0, true, true, hasAccounts]);
    }
    const wrong = await runParley(['show', ...operator.with(3, 'User_1')]);
    assert.deepEqual([wrong.code, wrong.stdout], [1, '']);
    assert.match(wrong.stderr, /^parley: [^\n]+\n$/);
    folder.remove();
  });

  test('the overview names what is in trouble: a node that is gone, questions without an engine, a drained account', async () => {
    await start();
    const dead = await cluster.startNode();
    await nodes(4);
    await dead.kill();
    assertOk(await cluster.request('POST', '/api/drain-engine', { as: 'Operator_1', body: { User: 'Inference_1', Drain: true } }));
    await cluster.add({ Topic: newTopic() });
    const troubles = async () => JSON.parse((await runParley(['show', '--json', '--redis', cluster.redis.url])).stdout).Troubles;
    const gone = new RegExp(`^node ${dead.url} \\(pid ${dead.child.pid}\\) is gone: it was last seen [\\d.]+ s ago$`);
    const found = await eventually(async () => {
      const all = await troubles();
      return all.some((text) => gone.test(text)) && all;
    }, { what: 'it is known to be gone' });
    assert.ok(found.includes('account Inference_1 is drained: its engines get no questions (POST /api/drain-engine ends that)'), found.join('\n'));
    assertOk(await cluster.request('POST', '/api/drain-engine', { as: 'Operator_1', body: { User: 'Inference_1', Drain: false } }));
    await cluster.sweep();
  });

  test('more rows than a part takes are counted, not sent', async () => {
    const { node } = (await start()).find(({ pid }) => pid === cluster.nodes[0].child.pid);
    const most = 1000;
    const polls = Array.from({ length: most + 1 }, (_, i) => cluster.claimOpen({ models: `${'long'.repeat(8)}${i}`, wait: 60, node: 0 }));
    await parked(cluster, 0, polls.length);
    const { code, stdout, stderr } = await run('classes', '--json', '--node', node);
    for (const poll of polls) poll.abort();
    assert.equal(code, 0);
    const left = /^parley: node (\w+) has (\d+) more rows, which are not shown\n$/.exec(stderr);
    assert.equal(left?.[1], node, stderr);
    const found = JSON.parse(stdout);
    assert.ok(found.length <= most && Number(left[2]) > 0);
    assert.ok(Buffer.byteLength(stdout) < 140_000);
  });
});

suite('the overview without Redis', { nodes: 1, args: ['--rescan-seconds', '1'], sweep: false }, ({ test, cluster }) => {
  test('a node prints what it knows, and that Redis is away', async () => {
    const folder = makeFolder();
    const args = ['show', '--url', cluster.nodes[0].url, '--user', 'Operator_1', '--secret-file', folder.file('secret', cluster.accounts.Operator_1.secret)];
    await cluster.redis.kill();
    await ready(cluster, 0, false);
    const { code, stdout, stderr } = await runParley(args);
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /^queue +unknown\naccounts +\d[^\n]* 1 operator\ntroubles +Redis: [^\n]+\n$/);
    assert.match((await runParley(['show', '--redis', cluster.redis.url])).stderr, /^(parley: Redis at [^\n]+\n){1,2}$/);
    folder.remove();
    await cluster.redis.restart();
    await ready(cluster, 0);
  });
});
