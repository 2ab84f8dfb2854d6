// SPDX-License-Identifier: MIT
//
// `parley evaluate`: the real command against nodes and a bot's endpoint.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { after, before } from 'node:test';
import { conversationOf, evaluateCommands, linesOf, messagesOf, ORIGINAL, PERSON, QUESTION, registerBot, startBot } from '../support/evaluations.mjs';
import { assertOk, BIN, cleanEnvironment, eventually, startProcess, suite, waitForOutput } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // a client: the same on any number of shards

const TABLE_ROW = /^ *(\d+) +(-?\d+\.\d{4}|failed) /;
const rowsOf = (stdout) => stdout.split('\n').flatMap((line) => (TABLE_ROW.test(line) ? [line.match(TABLE_ROW).slice(1)] : []));

suite('parley evaluate', { args: ['--allow-private-endpoints'], sweep: false }, ({ test, cluster }) => {
  const commands = evaluateCommands(cluster);
  const bots = [];
  let file;
  before(() => {
    file = commands.file('conversation.jsonl');
    writeFileSync(file, conversationOf(12));
  });
  after(async () => {
    for (const bot of bots) await bot.stop();
    commands.remove();
  });

  let made = 0;
  // Registers a bot that answers so; it has `name`.
  async function newBot(answer, { name = `bot_${++made}` } = {}) {
    const bot = await startBot(answer);
    bots.push(bot);
    await registerBot(cluster, name, bot.url);
    return Object.assign(bot, { name });
  }
  // A bot that waits in front of a turn until it may continue.
  async function newGatedBot(turn) {
    const gate = {};
    const opened = new Promise((resolve) => Object.assign(gate, { open: resolve }));
    const bot = await newBot(async ({ i }) => {
      if (i >= turn) await opened;
      return { message: ORIGINAL(i) };
    });
    return Object.assign(bot, gate);
  }
  const wordsOf = (bot, path = file) => ['--bot', bot.name, '--conversation', path];
  const evaluate = (bot, words = [], options = {}) => commands.run([...wordsOf(bot, options.path), ...words], options);
  const longFile = (n) => {
    const path = commands.file(`conversation-${n}.jsonl`);
    writeFileSync(path, conversationOf(n));
    return path;
  };
  const idIn = (text) => /evaluation ([0-9a-f]{24}-\d+)/.exec(text)[1];
  const storedOf = async (id) => assertOk(await cluster.request('GET', `/api/evaluations/${id}`, { as: 'User_1' }));
  const noState = () => assert.deepEqual(commands.stateFiles(), []);

  test('a bot that repeats the originals: a row for each turn, a mean of about 0, exit code 0', async () => {
    const bot = await newBot(({ i }) => ({ message: ORIGINAL(i) }));
    const { code, stdout, stderr } = await evaluate(bot);
    assert.equal(code, 0, stderr);
    const rows = rowsOf(stdout);
    assert.deepEqual(rows.map(([number]) => Number(number)), Array.from({ length: 12 }, (_, i) => i + 1));
    for (const [, distance] of rows) assert.ok(Number(distance) < 0.001, distance);
    assert.match(stdout, /^mean cosine distance 0\.0000, 95 % interval 0\.0000 to 0\.0000, score 100\.0 of 100 \(12 of 12 turns measured, 0 failed\)$/m);
    assert.match(stdout, new RegExp(QUESTION(1).slice(0, 20)));
    assert.ok(!stdout.includes('\u001b') && !stderr.includes('\r'), 'not a terminal: plain lines');
    assert.match(stderr, /^evaluation [0-9a-f]{24}-1: 12 turns\n(\d+ of 12 turns, 0 failed\n)*12 of 12 turns, 0 failed\n$/);
    noState();
  });

  test('a bot that fails every third time: failed turns are rows with their reason, and are counted', async () => {
    const bot = await newBot(({ i }) => (i % 3 === 0 ? { status: 200, body: '<html>' } : { message: 'Something about tables and chairs.' }));
    const { code, stdout, stderr } = await evaluate(bot);
    assert.equal(code, 0, stderr);
    const rows = rowsOf(stdout);
    assert.deepEqual(rows.filter(([, distance]) => distance === 'failed').map(([number]) => Number(number)), [3, 6, 9, 12]);
    for (const [, distance] of rows.filter(([, distance]) => distance !== 'failed')) assert.ok(Number(distance) > 0.2, distance);
    assert.match(stdout, /\(8 of 12 turns measured, 4 failed\)$/m);
  });

  test('--json is the evaluation as the node returns it, with all turns', async () => {
    const bot = await newBot(({ i }) => ({ message: `${ORIGINAL(i)} But today not.` }));
    const { code, stdout } = await evaluate(bot, ['--json', '--measure', 'euclidean']);
    assert.equal(code, 0);
    const json = JSON.parse(stdout);
    assert.deepEqual(json, await storedOf(json.id));
    assert.deepEqual([json.measure, json.total, json.turns.length], ['euclidean', 12, 12]);
    const distances = json.turns.map(({ distance }) => distance);
    assert.ok(Math.abs(json.mean - distances.reduce((a, b) => a + b) / 12) < 1e-9);
  });

  test('more turns than a page of the node are all shown', async () => {
    const bot = await newBot(({ i }) => ({ message: ORIGINAL(i) }));
    const { code, stdout } = await evaluate(bot, [], { path: longFile(1203), timeout: 300_000 });
    assert.equal(code, 0);
    assert.equal(rowsOf(stdout).length, 1203);
  });

  test('the largest conversation, 2,000 turns in 4 MiB: all of it is shown, and its report is a page', async () => {
    const messages = messagesOf(2000);
    const spare = (4 << 20) - 4096 - messages.reduce((n, message) => n + JSON.stringify({ ...message, tagged: [], timestamp: null }).length + 1, 0);
    // Letters that need most room in a page.
    for (const message of messages) message.text = `${'&"'.repeat(Math.floor(spare / messages.length / 3))} ${message.text}`;
    const path = commands.file('largest.jsonl');
    writeFileSync(path, linesOf(messages));
    const bot = await newBot(({ i }) => ({ message: `${ORIGINAL(i)} ${'<\'"&>'.repeat(200)}` }));
    const report = commands.file('largest.html');
    const { code, stdout, stderr } = await evaluate(bot, ['--report', report], { path, timeout: 300_000 });
    assert.equal(code, 0, stderr);
    assert.equal(rowsOf(stdout).length, 2000);
    const page = readFileSync(report, 'utf8');
    assert.equal(page.match(/<tr>/g).length, 2001);
    assert.match(page, /<\/html>\n$/);
  });

  // Until the node has stored so many turns.
  const reached = (id, n) => eventually(async () => (await storedOf(id)).done >= n, { what: `turn ${n}`, ms: 60_000 });

  for (const signal of ['SIGINT', 'SIGKILL']) {
    test(`${signal} at turn 40 of 100: the same command resumes the same run, and each turn is asked once`, async () => {
      const bot = await newGatedBot(41);
      const path = longFile(100);
      const first = commands.start(wordsOf(bot, path));
      const id = idIn((await waitForOutput(first, ({ stderr }) => /^evaluation \S+ .*\n/m.exec(stderr), 60_000, 'the run begins'))[0]);
      await waitForOutput(first, ({ stderr }) => /^40 of 100 turns/m.exec(stderr), 120_000, 'turn 40');
      first.child.kill(signal);
      const end = await first.exit();
      if (signal === 'SIGINT') {
        assert.equal(end.code, 1);
        assert.match(first.stderr, new RegExp(`^parley: interrupted after turn 40 of 100: the evaluation continues without this command; the same command resumes, or --run ${id}$`, 'm'));
      } else assert.deepEqual(end, { code: null, signal });
      assert.equal(first.stdout, '');
      const second = commands.start([...wordsOf(bot, path), '--json']);
      await waitForOutput(second, ({ stderr }) => /resumed at turn 41/.exec(stderr), 60_000, 'it resumes');
      bot.open();
      assert.equal((await second.exit(120_000)).code, 0, second.stderr);
      const json = JSON.parse(second.stdout);
      assert.deepEqual([json.id, json.turns.length, json.failed], [id, 100, 0]);
      assert.equal(bot.calls.length, 100);
      noState();
    });
  }

  test('a run that ends while nobody follows it: the same command shows its result, and only the next one begins again', async () => {
    const bot = await newGatedBot(5);
    const first = commands.start(wordsOf(bot));
    const id = idIn((await waitForOutput(first, ({ stderr }) => /^evaluation \S+ .*\n/m.exec(stderr), 60_000, 'the run begins'))[0]);
    await reached(id, 4);
    first.child.kill('SIGKILL');
    await first.exit();
    bot.open();
    await reached(id, 12);
    const ids = [];
    for (let i = 0; i < 2; i++) {
      const { code, stdout, stderr } = await evaluate(bot, ['--json']);
      assert.equal(code, 0, stderr);
      ids.push(JSON.parse(stdout).id);
    }
    assert.deepEqual(ids, [id, id.replace(/-1$/, '-2')]);
    assert.equal(bot.calls.length, 24);
  });

  test('--run shows a run of the past, and follows one that continues', async () => {
    const bot = await newGatedBot(7);
    const first = commands.start(wordsOf(bot));
    const id = idIn((await waitForOutput(first, ({ stderr }) => /^evaluation \S+ .*\n/m.exec(stderr), 60_000, 'the run begins'))[0]);
    const second = commands.start(['--run', id]);
    await waitForOutput(second, ({ stderr }) => /^evaluation/.exec(stderr), 60_000, 'it follows');
    bot.open();
    assert.equal((await first.exit(120_000)).code, 0, first.stderr);
    assert.equal((await second.exit(120_000)).code, 0, second.stderr);
    assert.equal(second.stdout, first.stdout);
    const past = await commands.run(['--run', id]);
    assert.deepEqual([past.code, past.stdout], [0, first.stdout]);
    const missing = await commands.run(['--run', '0123456789abcdef01234567-1']);
    assert.deepEqual([missing.code, missing.stderr], [1, 'parley: --run 0123456789abcdef01234567-1: there is no such evaluation\n']);
    const foreign = await commands.run(['--run', id], { as: 'User_2' });
    assert.match(foreign.stderr, /there is no such evaluation/);
  });

  test('--cancel ends a run, which keeps its turns: exit code 3', async () => {
    const bot = await newGatedBot(5);
    const first = commands.start(wordsOf(bot));
    const id = idIn((await waitForOutput(first, ({ stderr }) => /^evaluation \S+ .*\n/m.exec(stderr), 60_000, 'the run begins'))[0]);
    await reached(id, 4);
    const { code, stdout, stderr } = await commands.run(['--run', id, '--cancel']);
    assert.equal(code, 3, stderr);
    assert.equal(rowsOf(stdout).length, 4);
    assert.match(stderr, /^parley: the evaluation was ended after turn 4 of 12 \(cancelled\)$/m);
    assert.equal((await first.exit()).code, 3, 'and so does the command that followed it');
    bot.open();
    assert.equal((await storedOf(id)).status, 'cancelled');
  });

  test('the node of the command is killed: it continues at the next URL', async () => {
    const bot = await newGatedBot(5);
    const third = await cluster.startNode();
    const first = commands.start(wordsOf(bot), { nodes: [third, cluster.nodes[0]] });
    const id = idIn((await waitForOutput(first, ({ stderr }) => /^evaluation \S+ .*\n/m.exec(stderr), 60_000, 'the run begins'))[0]);
    await reached(id, 4);
    await third.kill();
    cluster.nodes.splice(cluster.nodes.indexOf(third), 1);
    await waitForOutput(first, ({ stderr }) => /retrying for 60 s$/m.exec(stderr), 60_000, 'it noticed');
    bot.open();
    assert.equal((await first.exit(120_000)).code, 0, first.stderr);
    assert.equal(rowsOf(first.stdout).length, 12);
    assert.match(first.stdout, /\(12 of 12 turns measured, 0 failed\)$/m);
  });

  test('--against: the difference of each turn, and its mean with an interval', async () => {
    const near = await newBot(({ i }) => ({ message: ORIGINAL(i) }));
    const far = await newBot(({ i }) => (i === 2 ? { status: 200, body: '<html>' } : { message: `Nothing about it, ${i}.` }));
    const other = JSON.parse((await evaluate(far, ['--json'])).stdout);
    const { code, stdout, stderr } = await evaluate(near, ['--against', other.id]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^ turn +distance +against +difference +message/m);
    const [, mean, low, high] = new RegExp(`^against ${other.id}: mean difference (-\\S+), 95 % interval (-\\S+) to (-\\S+) \\(11 turns\\)$`, 'm').exec(stdout).map(Number);
    const run = JSON.parse((await evaluate(near, ['--json', '--against', other.id])).stdout);
    const pairs = run.turns.flatMap(({ distance }, i) => (other.turns[i].distance === null ? [] : [distance - other.turns[i].distance]));
    const average = pairs.reduce((a, b) => a + b) / 11;
    // Student's t of 10 degrees of freedom: 2.228139.
    const half = (2.228139 * Math.sqrt(pairs.reduce((sum, d) => sum + (d - average) ** 2, 0) / 10)) / Math.sqrt(11);
    for (const [seen, expected] of [[mean, average], [low, average - half], [high, average + half]]) assert.ok(Math.abs(seen - expected) < 0.0001, `${seen} ${expected}`);
    assert.ok(Math.abs(run.against.difference - average) < 1e-9 && Math.abs(run.against.interval[0] - (average - half)) < 1e-6);
    assert.deepEqual([run.against.id, run.against.turns], [other.id, 11]);
    assert.match(stdout, /^This run is closer to the originals: the whole interval is below 0\.$/m);
  });

  test('--against of a run that cannot be compared: the result is shown, and one line says why', async () => {
    const bot = await newBot(({ i }) => ({ message: ORIGINAL(i) }));
    const other = JSON.parse((await evaluate(bot, ['--json'], { path: longFile(11) })).stdout);
    const changed = messagesOf(12);
    changed[3].text = 'Something else.';
    const edited = commands.file('edited.jsonl');
    writeFileSync(edited, linesOf(changed));
    const of = JSON.parse((await evaluate(bot, ['--json'], { path: edited })).stdout);
    const dot = JSON.parse((await evaluate(bot, ['--json', '--measure', 'dot'])).stdout);
    for (const [id, reason] of [[other.id, /is of another conversation/], [of.id, /is of another conversation/], [dot.id, /another distance/]]) {
      const { code, stdout, stderr } = await evaluate(bot, ['--against', id]);
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`^parley: --against ${id}: it `, 'm'));
      assert.match(stderr, reason);
      assert.equal(rowsOf(stdout).length, 12);
    }
    const before = bot.calls.length;
    const missing = await evaluate(bot, ['--against', '0123456789abcdef01234567-1']);
    assert.deepEqual([missing.code, missing.stdout], [1, '']);
    assert.match(missing.stderr, /^parley: --against \S+: there is no such evaluation\n$/);
    assert.equal(bot.calls.length, before, 'and no run was begun');
  });

  test('several accepted originals: the nearest counts', async () => {
    const path = commands.file('several.jsonl');
    const messages = messagesOf(3).flatMap((message, i) => (i % 2 ? [{ from: PERSON, text: 'I would rather talk about the weather.' }, message] : [message]));
    writeFileSync(path, linesOf(messages));
    const bot = await newBot(({ i }) => ({ message: ORIGINAL(i) }));
    const { stdout } = await evaluate(bot, ['--json'], { path });
    const { turns } = JSON.parse(stdout);
    assert.deepEqual(turns.map(({ originals, original }) => [originals, original]), [1, 2, 3].map((i) => [2, ORIGINAL(i)]));
    for (const { distance } of turns) assert.ok(distance < 0.001);
  });

  test('thirteen turns that fail for one reason are one line', async () => {
    const bot = await newBot(() => ({ status: 404 }));
    const { code, stdout } = await evaluate(bot, [], { path: longFile(13) });
    assert.equal(code, 3);
    assert.match(stdout, /^[^\n]+\n 1-13 +failed 13 turns: [^\n]*404[^\n]*\n\nno turn was measured \(0 of 13 turns measured, 13 failed\)\n$/);
    assert.equal((JSON.parse((await evaluate(bot, ['--json'], { path: longFile(13) })).stdout)).turns.length, 13, 'programs get each of them');
  });

  test('no turn could be measured: exit code 3', async () => {
    const bot = await newBot(() => ({ status: 404 }));
    const { code, stdout } = await evaluate(bot, ['--report', commands.file('none.html')], { path: longFile(2) });
    assert.equal(code, 3);
    assert.match(stdout, /^no turn was measured \(0 of 2 turns measured, 2 failed\)$/m);
    assert.match(readFileSync(commands.file('none.html'), 'utf8'), /No turn was measured/);
  });

  test('hostile texts reach the terminal without control characters, each on its line', async () => {
    const text = 'one\u001b[2Jtwo\u0007\nthree\u202efour';
    const path = commands.file('hostile.jsonl');
    writeFileSync(path, linesOf([{ from: 'Bob', text }, { from: PERSON, text }]));
    const bot = await newBot(() => ({ message: text }));
    const { code, stdout } = await evaluate(bot, [], { path });
    assert.equal(code, 0);
    assert.ok(!/[\u0000-\u0009\u000b-\u001f\u007f\u202e]/.test(stdout), JSON.stringify(stdout));
    assert.equal(rowsOf(stdout).length, 1);
  });

  test('a bar on a terminal', async () => {
    const bot = await newGatedBot(7);
    const command = [BIN, ...commands.argsOf(wordsOf(bot))].map((word) => `'${word}'`).join(' ');
    const terminal = startProcess(['-qec', command, '/dev/null'], { bin: 'script', input: null, env: commands.env });
    await waitForOutput(terminal, ({ stdout }) => /\[#+-+\] 6 of 12 turns, 0 failed/.exec(stdout), 60_000, 'half a bar');
    bot.open();
    await waitForOutput(terminal, ({ stdout }) => /^mean cosine distance/m.exec(stdout), 60_000, 'the result');
    terminal.child.stdin.end();
    assert.equal((await terminal.exit()).code, 0);
    assert.match(terminal.stdout, /\r\u001b\[K turn +distance/, 'the bar is removed before the table');
  });

  test('the band of the mean is drawn whole, although it reaches further than any turn', async () => {
    const bot = await newBot(({ i }) => ({ message: i === 1 ? ORIGINAL(i) : 'Tables, chairs.' }));
    const path = commands.file('band.html');
    const { stdout } = await evaluate(bot, ['--report', path, '--json'], { path: longFile(2) });
    const [low, high] = JSON.parse(stdout).interval;
    const page = readFileSync(path, 'utf8');
    const [, top, height] = /<rect class="band" x="\d+" y="([\d.-]+)" width="\d+" height="([\d.]+)"/.exec(page).map(Number);
    const ticks = [...page.matchAll(/<path class="grid" d="M\d+ ([\d.-]+)H\d+"\/><text[^>]*>([\d.-]+)</g)].map((tick) => tick.slice(1).map(Number));
    const [[y0, value0], [y1, value1]] = [ticks[0], ticks.at(-1)];
    assert.ok(low < -1 && value0 <= low && high <= value1, `the axis from ${value0} to ${value1} has room for ${low} to ${high}`);
    const yOf = (value) => y0 + ((y1 - y0) * (value - value0)) / (value1 - value0);
    assert.ok(Math.abs(top - yOf(high)) < 0.2 && Math.abs(top + height - yOf(low)) < 0.2, `${top}, ${height}`);
  });

  test('a report replaces a file once it is complete, with mode 0600, and nothing but a file', async () => {
    const bot = await newBot(({ i }) => ({ message: ORIGINAL(i) }));
    const path = commands.file('report.html');
    writeFileSync(path, 'old');
    assert.equal((await evaluate(bot, ['--report', path])).code, 0);
    assert.match(readFileSync(path, 'utf8'), /^<!doctype html>[^]*<\/html>\n$/);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    for (const [where, reason] of [[commands.file('none/x.html'), 'No such file or directory'], ['/dev/full', 'exists and is not a regular file']]) {
      const { code, stdout, stderr } = await evaluate(bot, ['--report', where]);
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`^parley: --report ${where}: ${reason}$`, 'm'));
      assert.equal(rowsOf(stdout).length, 12, 'the result is not lost');
    }
    const again = await evaluate(bot, ['--json']);
    assert.match(JSON.parse(again.stdout).id, /-2$/, 'what could not be written is shown again by the same command');
  });

  test('faults of the file are named by their line, all at once, without a node', async () => {
    const path = commands.file('faults.jsonl');
    writeFileSync(path, `\ufeff{"from":"Bob","text":"Hi"}\r\n\n{"from":"","text":"x"}\nhello\n[1]\n{"from":"Bob"}\n{"from":"Bob","text":"x","tagged":"Ann"}\n{"from":"Bob","text":"x","id":"a\\"b"}\n{"from":"Bob","text":"x","timestamp":3}\n{"from":"Bob","text":"${'x'.repeat(65537)}"}\n{"from":"Bob","text":"x"} x\n`);
    const run = (where) => commands.run(['--bot', 'b', '--conversation', where], { url: 'http://127.0.0.1:1' });
    const { code, stdout, stderr } = await run(path);
    assert.deepEqual([code, stdout], [1, '']);
    const at = (line, text) => `parley: ${path}:${line}: ${text}\n`;
    assert.equal(stderr, [
      at(3, '`from` must be a text of 1 to 128 bytes: who wrote the message'),
      at(4, 'not JSON: invalid token at column 5'),
      at(5, 'a line must be an object such as {"from":"Ann","text":"Hello"}'),
      at(6, '`text` must be a text of 1 byte to 64 KiB (2 lines: 6, 10)'),
      at(7, '`tagged` must be a list of at most 20 texts of at most 128 bytes'),
      at(8, '`id` must be a text of 1 to 128 bytes without quotes and backslashes, or a number'),
      at(9, '`timestamp` must be a text of at most 128 bytes'),
      at(11, 'not JSON: end of file expected at column 27'),
    ].join(''));
    for (const [content, reason] of [['', /: no messages: each line is one/], ['\n'.repeat(9), /: no messages/], ['x\n'.repeat(1000), /^parley: [^\n]*:1: not JSON[^\n]* \(1000 lines: 1, 2, 3, 4, 5, \.\.\.\)\n$/], [Array.from({ length: 100 }, (_, i) => `[${'1,'.repeat(i + 1)}x`).join('\n'), /:1: not JSON[^]*:20: not JSON[^\n]*\nparley: and 80 more\n$/], [Buffer.from([0x7b, 0xff]), /:1: not UTF-8/], [' '.repeat((4 << 20) + 1), /: larger than 4 MiB/]]) {
      writeFileSync(path, content);
      const one = await run(path);
      assert.equal(one.code, 1);
      assert.match(one.stderr, reason);
    }
    assert.match((await run(commands.file('no.jsonl'))).stderr, /no\.jsonl: No such file or directory\n$/);
    assert.equal((await run('/')).code, 1);
  });

  test('what a node refuses is one line: no such bot, a bot that pulls, a conversation without a turn, a secret, a role', async () => {
    const bot = await newBot(({ i }) => ({ message: ORIGINAL(i) }));
    await registerBot(cluster, 'puller');
    const alone = commands.file('alone.jsonl');
    writeFileSync(alone, linesOf([{ from: 'Bob', text: 'Hello?' }]));
    for (const [words, options, pattern] of [
      [['--bot', 'nobody', '--conversation', file], {}, /refused the request: 404: /],
      [['--bot', 'puller', '--conversation', file], {}, /refused the request: 409: /],
      [wordsOf(bot, alone), {}, /refused the request: 400: .*turn/],
      [wordsOf(bot), { secret: 'wrong' }, /refused the signature of --user User_1: /],
      [wordsOf(bot), { as: 'Inference_1' }, /refused the request: 403: /],
      [[...wordsOf(bot), '--patience-seconds', '0'], { url: 'http://127.0.0.1:1' }, /--patience-seconds\)$/m],
    ]) {
      const { code, stdout, stderr } = await commands.run(words, options);
      assert.deepEqual([code, stdout, stderr.trim().split('\n').length], [1, '', 1], stderr);
      assert.match(stderr, pattern);
      assert.ok(!Object.values(cluster.accounts).some(({ secret }) => stderr.includes(secret)));
    }
    assert.equal(bot.calls.length, 0);
  });

  test('a frontend evaluates for a user', async () => {
    const bot = await newBot(({ i }) => ({ message: ORIGINAL(i) }));
    const { code, stdout, stderr } = await evaluate(bot, ['--on-behalf-of', 'zoë', '--json'], { as: 'Frontend_1', path: longFile(2) });
    assert.equal(code, 0, stderr);
    const { id } = JSON.parse(stdout);
    const read = (User) => cluster.request('GET', `/api/evaluations/${id}`, { as: 'Frontend_1', query: { OnBehalfOf: User } });
    assert.equal((await read('zoë')).status, 200);
    assert.equal((await read('alice')).status, 404);
  });

  test('a wrong flag is one line and exit code 2', async () => {
    const good = ['--bot', 'b', '--conversation', file];
    for (const words of [[], ['--bot', 'b'], ['--conversation', file], ['--bot', 'x'.repeat(129), '--conversation', file], [...good, 'word'], [...good, '--measure', 'manhattan'], [...good, '--run', '1-1'],
      ['--run', '../../x'], ['--run', 'f'.repeat(64)], [...good, '--against', 'last'], [...good, '--cancel'], [...good, '--on-behalf-of', 'x'.repeat(129)]]) {
      const { code, stdout, stderr } = await commands.run(words);
      assert.deepEqual([code, stdout], [2, ''], `${words}: ${stderr}`);
      assert.match(stderr, /^parley: [^\n]+\n$/);
    }
    assert.equal((await commands.run(good, { url: 'ftp://x' })).code, 2);
  });

  test('what is not a node, or answers nonsense, is one line', async () => {
    for (const [status, body, pattern] of [
      [404, '{"code":"no_route","detail":"x"}', /not a Parley node, or one without the service `bots` \(--target\)$/m],
      [200, 'Welcome', /not a Parley node/],
      [301, '', /status 301: not a Parley node/],
      [202, '{"id":"../../etc"}', /the response is not from a Parley node$/m],
      [202, '{"id":"ab-1"}', /the response is not from a Parley node$/m],
    ]) {
      const server = http.createServer((request, response) => response.writeHead(status).end(body));
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { code, stdout, stderr } = await commands.run(['--bot', 'b', '--conversation', file], { url: `http://127.0.0.1:${server.address().port}` });
      server.close();
      assert.deepEqual([code, stdout], [1, ''], stderr);
      assert.match(stderr, pattern);
    }
  });

  test('where no state can be kept, it works without', async () => {
    const bot = await newBot(({ i }) => ({ message: ORIGINAL(i) }));
    for (const env of [{ XDG_STATE_HOME: '/dev/null' }, { XDG_STATE_HOME: '', HOME: '' }]) {
      const { code, stderr } = await evaluate(bot, [], { env, path: longFile(2) });
      assert.equal(code, 0, stderr);
    }
  });

  test('standard output that cannot be written: exit code 1', async () => {
    const bot = await newBot(({ i }) => ({ message: ORIGINAL(i) }));
    const words = [BIN, ...commands.argsOf(wordsOf(bot))].map((word) => `'${word}'`).join(' ');
    const { code, stderr } = await new Promise((resolve) => {
      const shell = startProcess(['-c', `${words} >/dev/full`], { bin: 'sh', env: { ...cleanEnvironment(), ...commands.env } });
      shell.exit(120_000).then((end) => resolve({ ...end, stderr: shell.stderr }));
    });
    assert.equal(code, 1);
    assert.match(stderr, /^parley: cannot write to standard output$/m);
  });
});
