// SPDX-License-Identifier: MIT
//
// `parley ask`: a question from the command line to the end of its answer, with nodes that go away, engines that do, and
// servers that lie. Its exit codes are in its help.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after } from 'node:test';
import { ACCOUNTS, assertOk, BIN, cleanEnvironment, eventually, newTopic, runParley, startProcess, suite, waitForOutput } from '../support/harness.mjs';
import { sendJson, sendProblem, startScripted } from '../support/scripted_server.mjs';
import { userCommands } from '../support/user_command.mjs';

const EXIT = { answered: 0, broken: 1, usage: 2, away: 3, refused: 4, failed: 5, cancelled: 6, timeout: 7 };
const FAST = ['--rescan-seconds', '1'];

suite('parley ask', { args: FAST }, ({ test, cluster }) => {
  const commands = userCommands(cluster, { as: 'User_1', command: 'ask' });
  after(commands.remove);
  const ask = (words, options = {}) => commands.run(words, options);
  const start = (words, options = {}) => commands.start(words, options);
  const claimed = () => eventually(async () => {
    const claim = await cluster.claim({ detail: true, wait: 5 });
    return claim.Topic && { ...claim, Query: Object.values(claim.Queries[0])[0], Seq: Number(Object.keys(claim.Queries[0])[0]) };
  });
  const give = (claim, Offset, text, more = {}) => cluster.request('POST', '/api/give-partial', { as: 'Inference_1', body: { Topic: claim.Topic, Seq: claim.Seq, Lease: claim.Lease, Offset, ...text }, ...more });
  const answer = (claim, Answer, more = {}) => cluster.answer({ Topic: claim.Topic, Seq: claim.Seq, Query: claim.Query, Lease: claim.Lease, Answer, ...more });
  const shows = (running, text, stream = 'stdout') => waitForOutput(running, (one) => one[stream].includes(text), 60_000, text);
  // A line each, and no secret in any.
  function assertEnd({ code, stdout, stderr }, exit, pattern, expected = '') {
    assert.equal(code, exit, stderr);
    assert.equal(stdout, expected);
    assert.match(stderr, pattern);
    for (const { secret } of Object.values(ACCOUNTS)) assert.ok(!stderr.includes(secret), stderr);
  }

  test('the answer is printed while it is written, and thoughts are not part of it', async () => {
    const running = start(['What is it?']);
    const claim = await claimed();
    assert.equal(claim.Query, 'What is it?');
    assert.match(claim.Topic, /^ask-[0-9a-f]{12}$/);
    assertOk(await give(claim, 0, { Think: 'Hm. ' }));
    assertOk(await give(claim, 4, { Answer: 'It is ' }));
    await shows(running, 'It is ');
    assertOk(await give(claim, 10, { Answer: 'a test.' }));
    await answer(claim, ['It is a test.', 'Sources:\n[1] x'], { Think: ['Hm. '] });
    assert.deepEqual(await running.exit(), { code: 0, signal: null });
    assert.equal(running.stdout, 'It is a test.\n\nSources:\n[1] x\n');
    assert.equal(running.stderr, '');
  });

  test('--think prints the thoughts to standard error, --topic and --model reach the engine', async () => {
    const Topic = newTopic();
    const running = start(['--topic', Topic, '--model', 'llama3', '--think', '-'], { input: 'From\nstandard input?\n' });
    const claim = await eventually(async () => {
      const got = await cluster.claim({ detail: true, models: 'llama3' });
      return got.Topic && { ...got, Seq: 1, Query: got.Queries[0][1] };
    });
    assert.equal(claim.Topic, Topic);
    assert.equal(claim.Query, 'From\nstandard input?\n');
    assert.equal(claim.Details[1].Model, 'llama3');
    await answer(claim, ['Yes.'], { Think: ['Let me see.'] });
    assert.equal((await running.exit()).code, EXIT.answered);
    assert.equal(running.stdout, 'Yes.\n');
    assert.match(running.stderr, /^Let me see\.\n\n$/);
    const next = start(['--topic', Topic, 'And now?']);
    const second = await claimed();
    assert.deepEqual([second.Topic, second.Seq], [Topic, 2]);
    await answer(second, ['Still.\n']);
    assert.equal((await next.exit()).code, EXIT.answered);
    assert.equal(next.stdout, 'Still.\n');
  });

  test('--json is one object at the end, --whole the answer alone, whatever came before', async () => {
    for (const flag of ['--json', '--whole']) {
      const running = start([flag, 'What?']);
      const claim = await claimed();
      assertOk(await give(claim, 0, { Answer: 'Something else' }));
      await answer(claim, ['42']);
      assert.equal((await running.exit()).code, EXIT.answered, running.stderr);
      if (flag === '--whole') assert.equal(running.stdout, '42\n');
      else {
        const { Topic, Seq, Query, Answer, Status } = JSON.parse(running.stdout);
        assert.deepEqual({ Topic, Seq, Query, Answer, Status }, { Topic: claim.Topic, Seq: 1, Query: 'What?', Answer: ['42'], Status: 'Done' });
        assert.equal(running.stdout.trim().split('\n').length, 1);
      }
      assert.equal(running.stderr, '');
    }
  });

  test('a node that is killed in the middle of an answer: the next one continues with it, without a gap or a repetition', async () => {
    const node = await cluster.startNode();
    const others = cluster.nodes.filter((one) => one !== node);
    const running = start(['Which node?'], { url: [node, ...others].map(({ url }) => url).join() });
    const claim = await claimed();
    assertOk(await give(claim, 0, { Answer: 'One, ' }, { node: others[0] }));
    await shows(running, 'One, ');
    await node.kill();
    cluster.nodes.splice(cluster.nodes.indexOf(node), 1);
    assertOk(await give(claim, 5, { Answer: 'two, ' }));
    await shows(running, 'One, two, ');
    await answer(claim, ['One, two, three.']);
    assert.equal((await running.exit()).code, EXIT.answered, running.stderr);
    assert.equal(running.stdout, 'One, two, three.\n');
  });

  test('a node that is alone and starts again: its stream continues where it was', async () => {
    const node = await cluster.startNode();
    const running = start(['Again?'], { url: node.url });
    const claim = await claimed();
    assertOk(await give(claim, 0, { Answer: 'One, ' }, { node: cluster.nodes[0] }));
    await shows(running, 'One, ');
    await node.kill();
    cluster.nodes.splice(cluster.nodes.indexOf(node), 1);
    assertOk(await give(claim, 5, { Answer: 'two, ' }));
    const again = await cluster.startNode({ listen: new URL(node.url).host });
    await shows(running, 'One, two, ');
    await answer(claim, ['One, two, three.']);
    assert.equal((await running.exit()).code, EXIT.answered, running.stderr);
    assert.equal(running.stdout, 'One, two, three.\n');
    await again.stop();
    cluster.nodes.splice(cluster.nodes.indexOf(again), 1);
  });

  test('an engine that is lost: text that the next one repeats is printed once, and other text begins again, with a line', async () => {
    for (const [second, stdout, stderr] of [
      ['It is so, and more.', 'It is so, and more.\n', /^$/],
      ['No.', 'It is so\nNo.\n', /^parley: the answer begins again, because its engine was lost/],
    ]) {
      const running = start(['Is it so?']);
      const first = await claimed();
      assertOk(await give(first, 0, { Answer: 'It is so' }));
      await shows(running, 'It is so');
      assertOk(await cluster.request('POST', '/api/release-claim', { as: 'Inference_1', body: { Topic: first.Topic, Lease: first.Lease, Reason: 'gone', Retry: true } }));
      await answer(await claimed(), [second]);
      assert.equal((await running.exit()).code, EXIT.answered, running.stderr);
      assert.equal(running.stdout, stdout);
      assert.match(running.stderr, stderr);
    }
  });

  test('Ctrl-C cancels the question on the node, while it waits and while it is answered', async () => {
    for (const signal of ['SIGINT', 'SIGTERM']) {
      const Topic = newTopic();
      const running = start(['--topic', Topic, 'Never mind?']);
      const claim = signal === 'SIGTERM' ? await claimed() : undefined;
      await eventually(async () => (await cluster.checkRaw({ as: 'User_1', Topic, detail: true })).json?.Status === (claim ? 'Pending' : 'Open'));
      if (claim) {
        assertOk(await give(claim, 0, { Answer: 'Half' }));
        await shows(running, 'Half');
      }
      running.child.kill(signal);
      assert.equal((await running.exit()).code, EXIT.cancelled, running.stderr);
      assert.match(running.stderr, /^parley: interrupted: the question is cancelled$/m);
      assert.equal((await cluster.check({ as: 'User_1', Topic, detail: true })).Status, 'Cancelled');
      if (claim) assert.equal(assertOk(await give(claim, 4, { Answer: 'more' })).Cancelled, true);
    }
  });

  test('no answer within --timeout-seconds: exit 7, and the question is cancelled', async () => {
    const Topic = newTopic();
    assertEnd(await ask(['--topic', Topic, '--timeout-seconds', '1', 'Anybody?']), EXIT.timeout, /^parley: no answer in time \(--timeout-seconds\): the question is cancelled\n$/);
    assert.equal((await cluster.check({ as: 'User_1', Topic, detail: true })).Status, 'Cancelled');
    const { code, stdout } = await ask(['--json', '--timeout-seconds', '1', 'Anybody?']);
    assert.equal(code, EXIT.timeout);
    assert.equal(JSON.parse(stdout).Status, 'Cancelled');
  });

  test('a question that fails, or that somebody else cancels, has its own exit code and its reason', async () => {
    const failed = start(['Can you?']);
    const claim = await claimed();
    assertOk(await cluster.request('POST', '/api/release-claim', { as: 'Inference_1', body: { Topic: claim.Topic, Lease: claim.Lease, Reason: 'The \u001b[31mmodel\u202e broke.', Retry: false } }));
    assert.equal((await failed.exit()).code, EXIT.failed);
    assert.match(failed.stderr, /^parley: the question has failed: .*The \[31mmodel broke\.$/m);
    for (const flag of ['--json', '--whole']) {
      const Topic = newTopic();
      const running = start([flag, '--topic', Topic, 'Wait?']);
      await eventually(async () => (await cluster.checkRaw({ as: 'User_1', Topic })).status === 200);
      assertOk(await cluster.request('POST', '/api/cancel-query', { as: 'User_1', body: { Topic, Seq: 1 } }));
      assert.equal((await running.exit()).code, EXIT.cancelled);
      if (flag === '--json') assert.equal(JSON.parse(running.stdout).Status, 'Cancelled');
      else assert.equal(running.stdout, '');
    }
  });

  test('an account that is refused, a role that may not, a node that is none: a line and an exit code of their own', async () => {
    assertEnd(await ask(['Why?'], { secret: 'wrong' }), EXIT.refused, /^parley: --secret-file \S+: http:\S+ refused the signature of --user User_1: [^\n]+\n$/);
    assertEnd(await ask(['Why?'], { as: 'Inference_1' }), EXIT.refused, /^parley: http:\S+ refused the request: 403: [^\n]+\n$/);
    assertEnd(await ask(['--patience-seconds', '0', 'Why?'], { url: 'http://127.0.0.1:1' }), EXIT.away, /^parley: http:\/\/127\.0\.0\.1:1: [^\n]+--patience-seconds\)\n$/);
    const web = await startScripted((request, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>Welcome'));
    const full = await startScripted((request, response) => sendProblem(response, 503, 'queue_full', 'The queue is full.', { 'Retry-After': '100' }));
    try {
      assertEnd(await ask(['Why?'], { url: web.url }), EXIT.refused, /not a Parley node/);
      assertEnd(await ask(['Why?', '--patience-seconds', '1'], { url: full.url }), EXIT.refused, /503: The queue is full\. \(retry in 100 s\)\n$/);
    } finally {
      await Promise.all([web.stop(), full.stop()]);
    }
  });

  test('a wrong use is one line and exit 2', async () => {
    for (const [words, pattern, options] of [
      [[], /which question\? Write - to read it/],
      [['How', 'long?'], /put it in quotes/],
      [[' \n'], /the question is empty/],
      [['-'], /the question is empty/, { input: '' }],
      [['-'], /at most 256 KiB/, { input: 'x'.repeat(262_145) }],
      [['-'], /not UTF-8/, { input: Buffer.from([0xff, 0xfe]) }],
      [['--topic', 'a b', 'Why?'], /--topic takes/],
      [['--topic', 'x'.repeat(129), 'Why?'], /--topic takes/],
      [['--public', '--documents', 'Why?'], /--public excludes/],
      [['--topic', 't', '--file', 'x', 'Why?'], /--topic and --model are for questions in the queue/],
      [['--timeout-seconds', 'soon', 'Why?'], /--timeout-seconds takes/],
    ]) {
      const run = await ask(words, options);
      assertEnd(run, EXIT.usage, pattern);
      assert.match(run.stderr, /^[^\n]+\n$/);
    }
    assertEnd(await runParley(['ask', 'Why?']), EXIT.usage, /parley login/);
  });

  // What a node could send to a terminal, as pieces that are cut anywhere.
  const NASTY = 'a\u001b]0;title\u0007\u001b[2Jb\u0085\u202ec\r\nd\u200dé\t.';

  test('on a terminal no control character of an answer is passed on; into a pipe it is what the engine wrote', async () => {
    const piped = start(['Nasty?']);
    await answer(await claimed(), [NASTY]);
    assert.equal((await piped.exit()).code, EXIT.answered);
    assert.equal(piped.stdout, `${NASTY}\n`);
    for (const flags of [['--think'], ['--json']]) {
      const command = [BIN, ...commands.argsOf([...flags, 'Nasty?'])].map((word) => `'${word}'`).join(' ');
      const terminal = startProcess(['-qec', command, '/dev/null'], { bin: 'script', env: cleanEnvironment() });
      await answer(await claimed(), [NASTY], { Think: [NASTY] });
      assert.equal((await terminal.exit()).code, EXIT.answered, terminal.stdout);
      // What it writes itself: dim thoughts, and the line of progress.
      const said = terminal.stdout.replaceAll('\u001b[2m', '').replaceAll('\u001b[0m', '').replaceAll('\r\u001b[K', '');
      assert.doesNotMatch(said, /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e]/, JSON.stringify(said));
      if (flags[0] === '--think') assert.match(said, /a\]0;title\[2Jbc\r\nd\u200dé\t\./);
    }
  });

  test('on a terminal no line of progress is drawn over an answer that has begun', () =>
    withLiar((response) => openStream(response).end(event('token', { text: 'One, ' }, '1-5') + event('think', { text: 'Hm.' }, '1-8') + event('queue', { Position: 3, EtaSeconds: null }) + event('done', { Answer: ['One, two.'] })), async (liar) => {
      const command = [BIN, ...commands.argsOf(['Why?'], { url: liar.url })].map((word) => `'${word}'`).join(' ');
      const terminal = startProcess(['-qec', command, '/dev/null'], { bin: 'script', env: cleanEnvironment() });
      assert.equal((await terminal.exit()).code, EXIT.answered, terminal.stdout);
      assert.match(terminal.stdout, /^One, two\.\r\n/);
    }));

  test('a reader that goes away ends it, and the question', async () => {
    const Topic = newTopic();
    const args = commands.argsOf(['--topic', Topic, 'Long?']);
    const child = spawn(BIN, args, { env: cleanEnvironment(), stdio: ['ignore', 'pipe', 'pipe'] });
    const ended = once(child, 'exit');
    const claim = await claimed();
    child.stdout.destroy();
    assertOk(await give(claim, 0, { Answer: 'Once upon a time' }));
    const [code] = await ended;
    assert.equal(code, EXIT.broken);
    assert.equal((await cluster.check({ as: 'User_1', Topic, detail: true })).Status, 'Cancelled');
  });

  // A server that takes the question and sends that stream.
  async function withLiar(stream, run) {
    const liar = await startScripted(async ({ url }, response, n) => {
      if (url.startsWith('/api/add-query')) sendJson(response, { Topic: 't', Seq: 1, Timestamp: '2025-03-25T01:02:03' });
      else if (url.startsWith('/api/cancel-query')) sendJson(response, { Status: 'Cancelled' });
      else await stream(response, n);
    });
    try {
      await run(liar);
    } finally {
      await liar.stop();
    }
  }
  const openStream = (response) => response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  const event = (type, data, id) => `${id ? `id: ${id}\n` : ''}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;

  test('a stream that breaks off is asked for again with the id of its last event', () =>
    withLiar((response, n) => {
      openStream(response);
      if (n === 2) response.end(event('token', { text: 'One' }, '1-3') + 'id: 1-4\nevent: token\nda');
      else response.end(event('token', { text: ' two' }, '1-7') + event('done', { Answer: ['One two'] }));
    }, async (liar) => {
      assertEnd(await ask(['Why?'], { url: liar.url }), EXIT.answered, /^$/, 'One two\n');
      assert.equal(liar.requests[2].headers['last-event-id'], '1-3');
      assert.notEqual(new URL(liar.requests[1].url, 'http://x').searchParams.get('Nonce'), new URL(liar.requests[2].url, 'http://x').searchParams.get('Nonce'));
    }));

  test('a server that lies is given up: lines without end, answers without end, events that are none, streams that end at once', async () => {
    const endless = (piece) => (response) => {
      openStream(response);
      response.on('drain', () => response.write(piece));
      response.write(piece);
    };
    for (const [what, stream, exit, pattern] of [
      ['a line', endless(`data: ${'x'.repeat(1 << 20)}`), EXIT.refused, /not a Parley node/],
      ['an answer', endless(event('token', { text: 'x'.repeat(1 << 18) }, '1-1')), EXIT.refused, /not a Parley node/],
      ['no JSON', (response) => openStream(response).end('event: token\ndata: {\n\n'), EXIT.refused, /not a Parley node/],
      ['a list', (response) => openStream(response).end('event: token\ndata: []\n\n'), EXIT.refused, /not a Parley node/],
      ['another type', (response) => response.writeHead(200, { 'Content-Type': 'text/plain' }).end('hello'), EXIT.refused, /not a Parley node/],
      ['no events', (response) => openStream(response).end(), EXIT.away, /the stream has ended too early/],
      ['only comments', (response) => openStream(response).end(': ping\n\n'), EXIT.away, /the stream has ended too early/],
    ])
      await withLiar(stream, async (liar) => {
        const { code, stderr } = await ask(['--whole', '--patience-seconds', '1', 'Why?'], { url: liar.url });
        assert.equal(code, exit, `${what}: ${stderr}`);
        assert.match(stderr, pattern, what);
      });
  });

  test('a stream that never ends is left at --timeout-seconds, and a redirect of it is not followed', async () => {
    await withLiar((response) => openStream(response).write(': ping\n\n'), async (liar) => {
      assertEnd(await ask(['--timeout-seconds', '1', 'Why?'], { url: liar.url }), EXIT.timeout, /the question is cancelled\n$/);
      assert.ok(liar.requests.some(({ url }) => url.startsWith('/api/cancel-query')));
    });
    const target = await startScripted((request, response) => sendJson(response, {}));
    try {
      await withLiar((response) => response.writeHead(302, { Location: `${target.url}/x` }).end(), async (liar) => {
        assertEnd(await ask(['Why?'], { url: liar.url }), EXIT.refused, /status 302: not a Parley node/);
        assert.deepEqual(target.requests, []);
      });
    } finally {
      await target.stop();
    }
  });

  test('a frontend asks for a person', async () => {
    const running = start(['--on-behalf-of', 'alice', 'Who?'], { as: 'Frontend_1' });
    const claim = await claimed();
    assert.equal(claim.Details[claim.Seq].User, 'alice');
    await answer(claim, ['Alice.']);
    assert.equal((await running.exit()).code, EXIT.answered, running.stderr);
  });
});
