// SPDX-License-Identifier: MIT
//
// What operators see of a cluster: GET /api/status lists what lives, GET /api/depth counts what waits, `parley top` shows both, and nodes say
// where their settings differ.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after } from 'node:test';
import { adopt, assertOk, assertProblem, BIN, eventually, exited, makeFolder, newTopic, suite } from '../support/harness.mjs';
import { withEngines } from '../support/engines.mjs';
import { userCommands } from '../support/user_command.mjs';
import { ready } from './watch.mjs';

const OFTEN = ['--rescan-seconds', '1'];
const status = async (cluster, options = {}) => assertOk(await cluster.request('GET', '/api/status', { as: 'Operator_1', ...options }));
const depth = async (cluster, options = {}) => assertOk(await cluster.request('GET', '/api/depth', { as: 'Operator_1', ...options }));
const slots = (Waiting, Working, Resting = 0) => ({ Waiting, Working, Resting });

suite('what lives', { nodes: 2, args: OFTEN }, ({ test, cluster }) => {
  const engines = async (name) => (await status(cluster)).Engines.filter(({ Engine }) => Engine === name);
  const only = (name, what, fits) => eventually(async () => {
    const all = await engines(name);
    return all.length === 1 && fits(all[0]) && all[0];
  }, { what });

  test('an engine of several slots is listed once, with what its slots do, and drops out when it is killed', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      const name = `box-${newTopic()}`;
      const engine = await start([...model, '--slots', 3, '--engine-id', name]);
      const idle = await only(name, 'three slots wait', ({ Slots }) => Slots.Waiting === 3);
      assert.deepEqual([idle.User, idle.Engine, idle.State, idle.Slots, idle.Drained], ['Inference_1', name, 'waiting', slots(3, 0), false]);
      let answer;
      llm.behave({ hold: new Promise((resolve) => (answer = resolve)) });
      await cluster.add();
      await only(name, 'one slot works', ({ State, Slots }) => State === 'working' && Slots.Working === 1 && Slots.Waiting === 2);
      const { Engines } = await depth(cluster); // an engine without a name may have polled before
      assert.ok(Engines.working === 1 && Engines.waiting >= 2, JSON.stringify(Engines));
      engine.stopped = true;
      engine.child.kill('SIGKILL');
      await engine.exit();
      // Those that waited; of the one at work nobody knows until its lease ends.
      await only(name, 'the slots that waited have gone', ({ Slots }) => Slots.Waiting === 0);
      answer();
    }));

  test('an engine that is killed while it waits is gone, and one of the same name that polls elsewhere stays', async () => {
    const name = `box${newTopic()}`;
    const first = cluster.claimOpen({ as: 'Inference_1', wait: 60, engine: name, node: 0 });
    await only(name, 'it waits', ({ State }) => State === 'waiting');
    const second = cluster.claimOpen({ as: 'Inference_1', wait: 60, engine: name, node: 1 });
    await first.response; // the newer poll ends it
    await eventually(async () => (await depth(cluster)).ParkedPolls === 1, { what: 'the newer poll is parked' });
    assert.deepEqual((await engines(name)).map(({ State }) => State), ['waiting']);
    second.abort();
    await second.response.catch(() => {});
    await eventually(async () => (await engines(name)).length === 0, { what: 'it is gone' });
  });

  test('nodes are listed with address, host, pid and version, and one that is killed is listed as gone', async () => {
    const third = await cluster.startNode();
    const nodes = () => status(cluster, { node: 0 }).then(({ Nodes }) => Nodes);
    const known = await eventually(async () => (await nodes()).length === 3 && nodes(), { what: 'three nodes' });
    for (const node of cluster.nodes) {
      const one = known.find(({ Pid }) => Pid === node.child.pid);
      assert.deepEqual([one.Address, typeof one.Host, one.Version], [node.url, 'string', one.Info.version]);
    }
    await third.kill('SIGKILL');
    cluster.nodes.pop();
    await eventually(async () => !(await nodes()).some(({ Pid }) => Pid === third.child.pid), { what: 'the node is gone' });
    assert.equal((await nodes()).length, 2);
    const { GoneNodes } = await status(cluster);
    const gone = GoneNodes.find(({ Pid }) => Pid === third.child.pid);
    assert.deepEqual([gone.Address, gone.Version], [third.url, gone.Info.version]);
    assert.ok(gone.SeenSecondsAgo > 0);
    const top = userCommands(cluster, { as: 'Operator_1', command: 'top' });
    const { stdout } = await top.run(['--once']);
    assert.match(stdout, new RegExp(`^${third.url} +${third.child.pid} +\\S+ +GONE +[\\dms.]+ ago$`, 'm'));
    assert.equal(stdout.match(/ GONE /g).length, 1);
    // Another process at its address has taken its place.
    await cluster.startNode({ listen: new URL(third.url).host });
    await eventually(async () => (await nodes()).length === 3, { what: 'it is back' });
    assert.doesNotMatch((await top.run(['--once'])).stdout, / GONE /);
    top.remove();
  });
});

suite('nodes that end', { nodes: 1, args: ['--rescan-seconds', '60'], sweep: false }, ({ test, cluster }) => {
  test('a node that ends on SIGTERM has left the lists when its process is over', async () => {
    const second = await cluster.startNode({ threads: 2 });
    const pids = async () => (await status(cluster, { node: 0 })).Nodes.map(({ Pid }) => Pid);
    await eventually(async () => (await pids()).length === 3, { what: 'its two threads are listed' });
    await second.stop();
    cluster.nodes.pop();
    assert.deepEqual(await pids(), [cluster.nodes[0].child.pid]);
    assert.deepEqual((await status(cluster)).GoneNodes, [], 'nobody misses it');
  });
});

suite('the depth of the queue', { nodes: 2, args: [...OFTEN, '--model-fallback-seconds', '0'] }, ({ test, cluster }) => {
  test('counts what waits, by model, the same on every node, and with an account in x-api-key', async () => {
    assert.deepEqual((await depth(cluster)).Models, []);
    for (const Model of ['llama3', 'llama3', 'mistral/7b', undefined]) await cluster.add({ Model, Topic: newTopic() });
    await eventually(async () => (await depth(cluster)).Depth === 4, { what: 'four wait' });
    for (const node of [0, 1]) {
      const all = await depth(cluster, { node });
      assert.deepEqual(all.Models.map(({ Model, Depth }) => [Model, Depth]), [['default', 1], ['llama3', 2], ['mistral/7b', 1]]);
      for (const { OldestSeconds } of all.Models) assert.ok(OldestSeconds > 0 && OldestSeconds <= all.OldestSeconds);
      const one = await depth(cluster, { node, query: { Model: 'llama3' } });
      assert.deepEqual([one.Depth, one.Models.length], [2, 1]);
      const none = await depth(cluster, { node, query: { Model: 'unknown' } });
      assert.deepEqual([none.Depth, none.OldestSeconds, none.Models], [0, 0, []]);
    }
    const key = (account, secret) => cluster.request('GET', '/api/depth', { headers: { 'x-api-key': `${account}:${secret}` } });
    assert.equal(assertOk(await key('Operator_1', cluster.accounts.Operator_1.secret)).Depth, 4);
    assertProblem(await key('Operator_1', 'wrong'), 401, 'unauthorized');
    assertProblem(await key('Frontend_1', cluster.accounts.Frontend_1.secret), 403, 'forbidden');
    assertProblem(await cluster.request('GET', '/api/depth', { as: 'Operator_1', query: { Model: 'x'.repeat(129) } }), 400, 'bad_request');
    const claim = await cluster.claim({ models: 'llama3', detail: true });
    assert.equal((await depth(cluster)).InFlight, 1);
    await cluster.answer({ Topic: claim.Topic, Seq: 1, Lease: claim.Lease, Answer: ['done'] });
    assert.equal((await depth(cluster)).InFlight, 0);
  });
});

suite('settings that differ', { nodes: 1, args: OFTEN }, ({ test, cluster }) => {
  test('each node logs the setting, both values and both nodes, and /health and /api/status say so until they agree', async () => {
    const [one] = cluster.nodes;
    const other = await cluster.startNode({ args: ['--max-attempts', '7'] });
    await one.waitForLog(/differ[^\n]*max-attempts/);
    await other.waitForLog(/differ[^\n]*max-attempts/);
    assert.match(one.log().split('\n').find((line) => /differ/.test(line)), new RegExp(`3.*7.*${other.url.replace('http://', '')}`));
    const found = (await status(cluster, { node: 0 })).DifferentSettings;
    assert.deepEqual(found, [{ Setting: 'max-attempts', Here: '3', There: '7', OtherNode: other.url }]);
    const health = assertOk(await cluster.request('GET', '/health', { node: 1 }));
    assert.equal(health.status, 'degraded');
    assert.match(health.dependencies.settings.details.message, /max-attempts is 7 here and 3 on another node/);
    assertOk(await cluster.request('GET', '/readyz', { node: 1 }));
    await other.stop();
    cluster.nodes.pop();
    await one.waitForLog(/settings agree again/);
    assert.ok(!('settings' in assertOk(await cluster.request('GET', '/health')).dependencies));
  });
});

suite('parley top', { nodes: 2, args: OFTEN }, ({ test, cluster }) => {
  const top = userCommands(cluster, { as: 'Operator_1', command: 'top' });
  const folder = makeFolder();
  after(() => {
    top.remove();
    folder.remove();
  });

  // parley top on a terminal of that size. Resolves with what `script` says of it: {output(), keys(text), resize(), ended}.
  async function onTerminal(name, words = [], options = {}) {
    const place = join(folder.dir, name);
    // A shell that is not interactive would end at a signal from the terminal, before its last two commands.
    const command = `trap : INT; stty rows 24 cols 80; tty > ${place}; stty -g > ${place}.before; ${BIN} ${top.argsOf(words, options).join(' ')}; echo "code $?"; stty -g > ${place}.after`;
    const child = adopt(spawn('script', ['-qfec', command, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, SHELL: '/bin/sh', TERM: 'xterm' } }));
    const run = { child, output: '' };
    child.stdout.on('data', (chunk) => (run.output += chunk));
    run.key = (text) => child.stdin.write(text);
    run.resize = (rows, columns) => exited(adopt(spawn('stty', ['-F', readFileSync(place, 'utf8').trim(), 'rows', rows, 'cols', columns])), 30_000, 'stty');
    run.restored = () => readFileSync(`${place}.before`, 'utf8') === readFileSync(`${place}.after`, 'utf8');
    await eventually(() => run.output.includes('parley top'), { what: 'the first view' });
    return run;
  }

  // The screens that were drawn, each as lines.
  const ESCAPES = /\x1b\[[0-9;?]*[A-Za-z]/g;
  const screens = (output) => output.split('\x1b[H').slice(1).map((text) => text.split('\x1b[?25h')[0].replace(ESCAPES, '').split(/\r*\n/));

  test('--once prints what waits, engines, nodes and verbs, without colours, and --json what the routes answer', async () => {
    await cluster.add({ Model: 'top-model', Query: 'waits' });
    const { code, stdout, stderr } = await top.run(['--once']);
    assert.deepEqual([code, stderr], [0, '']);
    for (const part of [/^parley top +http/, /waiting \d+ +oldest/, /top-model/, /^NODE/m, /^VERB/m, /\bstatus\b/]) assert.match(stdout, part);
    assert.ok(!stdout.includes('\x1b'));
    const json = await top.run(['--once', '--json']);
    assert.equal(json.code, 0, json.stderr);
    const { Status, Depth } = JSON.parse(json.stdout);
    assert.ok(Status.Nodes.length >= 1 && Status.Verbs.some(({ Verb, Calls }) => Verb === 'status' && Calls > 0));
    assert.ok(Depth.Models.some(({ Model }) => Model === 'top-model'));
  });

  test('without a node, an operator or a terminal it says so in one line', async () => {
    for (const [words, options, code, line] of [
      [['--once'], { url: 'http://127.0.0.1:1' }, 1, /^parley: http:\/\/127\.0\.0\.1:1: [^\n]+\n$/],
      [['--once'], { as: 'Frontend_1' }, 1, /^parley: --user Frontend_1: [^\n]*role operator[^\n]*\n$/],
      [['--once'], { secret: 'wrong' }, 1, /^parley: --secret-file [^\n]+\n$/],
      [[], {}, 2, /^parley: [^\n]*no terminal[^\n]*--once[^\n]*\n$/],
      [['extra'], {}, 2, /^parley: top takes flags only[^\n]*\n$/],
    ]) {
      const found = await top.run(words, options);
      assert.deepEqual([found.code, found.stdout], [code, ''], found.stderr);
      assert.match(found.stderr, line);
    }
    const second = await top.run(['--once'], { url: `http://127.0.0.1:1,${cluster.nodes[0].url}` });
    assert.equal(second.code, 0, second.stderr);
  });

  test('the view fits 80x24, follows a resize, and q restores the terminal', async () => {
    for (let i = 0; i < 40; i++) await cluster.add({ Model: `many-${i}`, Topic: newTopic() });
    const run = await onTerminal('quit');
    const fits = (lines, rows, columns) => lines.length <= rows && lines.every((line) => [...line].length <= columns);
    const first = await eventually(() => screens(run.output)[0], { what: 'a screen' });
    assert.ok(fits(first, 24, 80), first.join('\n'));
    assert.ok(first.some((line) => line.startsWith('NODE')) && first.some((line) => line.startsWith('VERB')), first.join('\n'));
    const before = screens(run.output).length;
    await run.resize(50, 60);
    await eventually(() => screens(run.output).slice(before).some((lines) => lines.length > 24 && fits(lines, 50, 60)), { what: 'a larger screen' });
    run.key('q');
    await exited(run.child, 60_000, 'parley top');
    assert.match(run.output, /\x1b\[\?1049l[^]*code 0/);
    assert.ok(run.restored());
  });

  test('a signal restores the terminal, and a node that ends is said in the view', async () => {
    const alone = await cluster.startNode();
    const run = await onTerminal('signal', ['--interval-seconds', '1'], { url: alone.url });
    await alone.stop();
    cluster.nodes.pop();
    await eventually(() => screens(run.output).some((lines) => lines[1]?.includes(alone.url)), { what: 'the view says that no node answers' });
    run.key('\x03');
    await exited(run.child, 60_000, 'parley top');
    assert.match(run.output, /\x1b\[\?1049l[^]*code 0/);
    assert.ok(run.restored());
  });
});

suite('parley top without Redis', { nodes: 1, args: OFTEN, sweep: false }, ({ test, cluster }) => {
  const top = userCommands(cluster, { as: 'Operator_1', command: 'top' });
  after(() => top.remove());

  test('shows what the node knows, and what nobody knows as unknown', async () => {
    await cluster.redis.kill();
    await ready(cluster, 0, false);
    const { code, stdout, stderr } = await top.run(['--once']);
    assert.deepEqual([code, stderr], [0, '']);
    for (const part of [/^parley top +http\S+ +Redis AWAY$/m, /^waiting \?.*claims \?/m, /^this process: polls 0/m]) assert.match(stdout, part);
    const json = await top.run(['--once', '--json']);
    const { Status, Depth } = JSON.parse(json.stdout);
    assert.deepEqual([json.code, Status.Depth, Status.Redis.Status, Depth], [0, null, 'away', null]);
    await cluster.redis.restart();
    await ready(cluster, 0);
  });
});
