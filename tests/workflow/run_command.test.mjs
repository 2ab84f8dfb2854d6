// SPDX-License-Identifier: MIT
//
// `parley workflow run`: the real command against two nodes and a real engine; its prompt on a terminal of script(1).
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { withEngines } from '../support/engines.mjs';
import { ACCOUNTS, assertOk, BIN, eventually, makeFolder, runParley, startProcess, suite, waitForOutput } from '../support/harness.mjs';

// One agent that has no objection, and one that is asked until a person is content. Neither needs a database.
const TREES = `WORKFLOWS:
  RULE:
    model.Capo: {yes: null, no: sendMessageToChat}
  CONTENT:
    model.Capo: {yes: model.verifyUpsert, no: sendMessageToChat}
    model.verifyUpsert: {yes: null, no: sendMessageToChat}
  GUARDED:
    model.Capo: {yes: model.verifyUpsert, no: sendMessageToChat}
    model.verifyUpsert: {yes: null, no: sendMessageToChat, hitl: {approvers: [User_2, 'role:operator'], quorum: 2, self: false}}
AGENTS:
  model.Capo: {kind: model, prompt: Is this a request?}
  model.verifyUpsert: {kind: model, prompt: Is the SQL right?}
  sendMessageToChat: {kind: chat}
`;
const NO_SQL = /model\.verifyUpsert +no /;
const ESCAPED = (words) => words.map((word) => `'${String(word).replaceAll("'", "'\\''")}'`).join(' ');

suite('parley workflow run', { nodes: 0, sweep: false }, ({ test, cluster }) => {
  let folder;
  let secret;
  let file;
  before(async () => {
    folder = makeFolder();
    secret = folder.file('user.secret', ACCOUNTS.User_1.secret);
    file = folder.file('workflows.yaml', TREES);
    for (let i = 0; i < 2; i++) await cluster.startNode({ args: ['--workflows', file] });
  });
  after(() => folder.remove());

  const flags = (nodes = cluster.nodes, as = ['User_1', secret]) => ['--url', nodes.map(({ url }) => url).join(','), '--user', as[0], '--secret-file', as[1]];
  const run = (words, nodes) => runParley(['workflow', 'run', ...flags(nodes), ...words]);
  const withEngine = (body) => withEngines(cluster, async ({ start }) => {
    await start();
    await body();
  });
  // The command on a terminal: type(line) is what a person does.
  function onTerminal(words, nodes) {
    const command = ESCAPED([BIN, 'workflow', 'run', ...flags(nodes), ...words]);
    const terminal = startProcess(['-qec', command, '/dev/null'], { bin: 'script', input: null });
    terminal.type = (line) => terminal.child.stdin.write(`${line}\n`);
    terminal.sees = (pattern) => waitForOutput(terminal, ({ stdout }) => pattern.exec(stdout), 60_000, String(pattern));
    return terminal;
  }
  const openQuestions = async (as = 'User_1') => assertOk(await cluster.request('GET', '/api/workflows/questions', { as })).questions;

  test('each step is a line, and a run that is done ends with 0', () => withEngine(async () => {
    const { code, stdout, stderr } = await run(['RULE', 'run Show patterns']);
    assert.match(stdout, /^model\.Capo +yes +\d+ % +\S.*\nThe run is done\.\n$/);
    assert.deepEqual([code, stderr], [0, '']);
  }));

  test('--json prints the frames as they are', () => withEngine(async () => {
    const { code, stdout } = await run(['--json', '--session', 'zoë', '--request', 'r1', 'RULE', 'run Show patterns']);
    const frames = stdout.trim().split('\n').map(JSON.parse);
    assert.equal(code, 0);
    assert.deepEqual(frames.map(({ type, session_id, request_id, seq, returnCode }) => [type, session_id, request_id, seq, returnCode]), [['response', 'zoë', 'r1', 1, 1]]);
    assert.equal(frames[0].messageBody.raw_text, 'run Show patterns');
  }));

  // Runs a command line of the program's output in a shell, with the program under test as `parley`.
  const inShell = (line, more = {}) => {
    const running = startProcess(['-c', `parley() { '${BIN}' "$@"; }; ${line}`], { bin: 'bash', ...more });
    return running.exit().then(({ code }) => ({ code, stdout: running.stdout, stderr: running.stderr }));
  };

  test('without a terminal a run that stops ends the command with 4, says who may answer and prints the command that approves', () => withEngine(async () => {
    for (const session of ['s2', "it's 2 & more"]) {
      const stopped = await run(['--session', session, '--request', 'r2', 'CONTENT', 'extract something']);
      assert.equal(stopped.code, 4, stopped.stderr);
      assert.match(stopped.stdout, NO_SQL);
      const [who, next, ...rest] = stopped.stderr.split('\n');
      assert.deepEqual([who, rest], ['parley: the run waits for a person: User_1, who began it, may answer', ['']]);
      const [, command] = /^parley: to approve: (parley workflow run .+ --approve) \(--reject rejects; neither asks, on a terminal\)$/.exec(next);
      const approved = await inShell(command);
      assert.equal(approved.code, 0, approved.stderr);
      assert.match(approved.stdout, /model\.verifyUpsert +yes .*\nThe run is done\.\n$/);
    }
  }));

  test('a run that others must approve names them, and prints a command for them instead of asking', () => withEngine(async () => {
    const stopped = await run(['GUARDED', 'extract something']);
    assert.equal(stopped.code, 4, stopped.stderr);
    const [who, next] = stopped.stderr.split('\n');
    assert.equal(who, 'parley: the run waits for a person: User_2 or any operator may answer, but not User_1, who began it; 2 of them must approve');
    const [, command] = /^parley: to approve, as one of them: (curl .+)$/.exec(next);
    for (const [name, status] of [['User_2', 'open'], ['Operator_1', 'approved']]) {
      const answered = await inShell(`curl() { command curl -s "$@"; }; ${command.replace('User_2', name).replace('FILE', folder.file(`${name}.secret`, ACCOUNTS[name].secret))}`);
      assert.equal(JSON.parse(answered.stdout).status, status, answered.stdout + answered.stderr);
    }
    const terminal = onTerminal(['GUARDED', 'extract something else']);
    await terminal.sees(/waits for a person: User_2 or any operator may answer[^]*as one of them: curl [^]*continues once they have answered/);
    assert.ok(!terminal.stdout.includes('Approve?'));
    const [question] = (await openQuestions('Operator_1')).filter(({ messageBody }) => messageBody.raw_text === 'extract something else');
    assertOk(await cluster.request('POST', `/api/workflows/questions/${question.id}`, { as: 'Operator_1', body: { approved: false } }));
    await terminal.sees(/The run has ended without success\./);
    terminal.child.stdin.end();
    assert.equal((await terminal.exit()).code, 3, terminal.stdout);
  }));

  test('--approve and --reject answer for scripts', () => withEngine(async () => {
    const approved = await run(['--approve', 'CONTENT', 'extract something']);
    assert.equal(approved.code, 0, approved.stderr);
    assert.match(approved.stdout, /model\.verifyUpsert +yes .*User_1/);
    const rejected = await run(['--reject', 'CONTENT', 'extract something']);
    assert.equal(rejected.code, 3, rejected.stderr);
    assert.match(rejected.stdout, /The run has ended without success\.\n$/);
  }));

  test('on a terminal a person corrects, sees the agent asked again, and approves', () => withEngine(async () => {
    const terminal = onTerminal(['CONTENT', 'extract something']);
    await terminal.sees(/Approve\?/);
    terminal.type('raw_text=extract something else');
    await terminal.sees(/raw_text: extract something else[^]*Approve\?/);
    terminal.type('{broken');
    await terminal.sees(/not a JSON object[^]*Approve\?/);
    terminal.type('y');
    await terminal.sees(/The run is done\./);
    terminal.child.stdin.end();
    assert.equal((await terminal.exit()).code, 0, terminal.stdout);
  }));

  test('a question that somebody else answers is not asked any more', () => withEngine(async () => {
    const terminal = onTerminal(['CONTENT', 'extract another thing']);
    await terminal.sees(/Approve\?/);
    const [question] = (await openQuestions()).filter(({ messageBody }) => messageBody.raw_text === 'extract another thing');
    assertOk(await cluster.request('POST', `/api/workflows/questions/${question.id}`, { as: 'User_1', body: { approved: false } }));
    await terminal.sees(/The run has ended without success\./);
    terminal.child.stdin.end();
    assert.equal((await terminal.exit()).code, 3, terminal.stdout);
  }));

  test('the node is killed while a person thinks: the command continues at the other one, and shows each step once', () => withEngine(async () => {
    const third = await cluster.startNode({ args: ['--workflows', file] });
    const terminal = onTerminal(['CONTENT', 'extract a third thing'], [third, cluster.nodes[0]]);
    await terminal.sees(/Approve\?/);
    await third.kill();
    await eventually(
      () => {
        if (!/The run is done\./.test(terminal.stdout)) terminal.type('y');
        return /The run is done\./.test(terminal.stdout);
      },
      { every: 500, ms: 60_000, what: 'the run is done' },
    );
    terminal.child.stdin.end();
    assert.equal((await terminal.exit()).code, 0, terminal.stdout);
    assert.equal(terminal.stdout.match(/^model\.Capo /gm).length, 1, terminal.stdout);
    assert.equal(terminal.stdout.match(/^model\.verifyUpsert +yes/gm).length, 1, terminal.stdout);
  }));

  test('FILE must be the file that the node runs', () => withEngine(async () => {
    assert.equal((await run([file, 'RULE', 'run Show patterns'])).code, 0);
    assert.equal((await run(['-', 'RULE', 'run Show patterns'])).code, 0);
    const other = await run([folder.file('other.yaml', `${TREES}# another\n`), 'RULE', 'x']);
    assert.equal(other.code, 1);
    assert.match(other.stderr, /other\.yaml is not the file that http\S+ runs \(version [0-9a-f]{12} there, [0-9a-f]{12} here\)/);
    const broken = await run([folder.file('broken.yaml', 'WORKFLOWS: 3\n'), 'RULE', 'x']);
    assert.equal(broken.code, 1);
    assert.match(broken.stderr, /broken\.yaml has faults: parley workflow check/);
  }));

  test('what a node refuses is one line: a verb, a run, a secret, a role', async () => {
    const wrong = folder.file('wrong.secret', 'wrong');
    const engine = folder.file('engine.secret', ACCOUNTS.Inference_1.secret);
    for (const [words, pattern] of [
      [[...flags(), 'NOPE', 'x'], /^parley: .*NOPE/],
      [[...flags(), '--session', 's9', '--request', 'none'], /^parley: .*no run 'none'/],
      [[...flags(undefined, ['User_1', wrong]), 'RULE', 'x'], /refused the signature of --user User_1/],
      [[...flags(undefined, ['Inference_1', engine]), 'RULE', 'x'], /refused the connection: 403/],
      [['--url', 'http://127.0.0.1:1', '--patience-seconds', 0, ...flags().slice(2), 'RULE', 'x'], /no node was reached/],
    ]) {
      const { code, stdout, stderr } = await runParley(['workflow', 'run', ...words]);
      assert.equal(code, 1, stderr);
      assert.match(stderr, pattern);
      assert.equal(stdout, '');
    }
  });

  test('a wrong word or flag is one line and exit code 2', async () => {
    for (const words of [[], ['RULE'], ['', 'x'], ['RULE', ''], ['a', 'b', 'c', 'd'], ['--approve', '--reject', 'RULE', 'x'], ['--session', 's'.repeat(64), 'RULE', 'x'], ['--url', 'ftp://x', 'RULE', 'x']]) {
      const { code, stderr } = await runParley(['workflow', 'run', '--user', 'User_1', '--secret-file', secret, ...words]);
      assert.equal(code, 2, `${words}: ${stderr}`);
      assert.match(stderr, /^parley: [^\n]+\n$/);
    }
  });
});
