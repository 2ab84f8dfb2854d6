// SPDX-License-Identifier: MIT
//
// The examples of the handbook and of README.md work: each page's shell commands run from top to bottom in one shell, in a folder
// that looks as `./dev up` leaves a checkout, with its var/env: so the port is any, and not 8080. Commands that build or start
// something are parsed, and their flags looked up.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { forgetLimits } from '../support/documents.mjs';
import { BIN, cleanEnvironment, makeFolder, ROOT, runParley, startProcess, suite, waitForOutput } from '../support/harness.mjs';

const BOOK = join(ROOT, 'docs/handbook');
const OPERATIONS = join(ROOT, 'docs/operations');
const pagesOf = (folder) => readdirSync(join(ROOT, folder)).filter((name) => name.endsWith('.md')).map((name) => `${folder}/${name}`);
const PAGES = ['README.md', ...pagesOf('docs/handbook')];
const ACCOUNTS_OF_UP = ['Frontend_1', 'User_1', 'Inference_1', 'Operator_1'];
// The statuses other than 2xx that a page shows.
const REFUSALS = { 'docs/handbook/limits.md': [400] };
// What the output of a page must contain.
const RESULTS = {
  'README.md': [/^When an engine dies,[^]*^Sources:\n\[1\] http:\S+\/handbook\//m, /^A lease lasts 150 seconds/m, /^\[1\] architecture\.md$/m, /"sources":\[\{/, /"Answer":\["A lease lasts 150 seconds/],
  'docs/handbook/accounts.md': [/"Depth":/],
  'docs/handbook/agent.md': [/"citations":/, /^event: complete$/m],
  'docs/handbook/asking-questions.md': [/"Answer":\["[^"]*`Think` are null/, /"Status":"Done"/],
  'docs/handbook/bots.md': [/"from":"librarian"[^\n]*150 seconds/, /"text":"You said: Hello, @parrot and @python!"[^]*"from":"python"/],
  'docs/handbook/command-line.md': [/^logged in at http:\S+ as User_1 \(role user\)/m, /^User_1\n {2}topics/m, /^\[1\] architecture\.md$/m, /"Answer":\[/],
  'docs/handbook/cluster.md': [/^parley_queries_added_total \d/m],
  'docs/handbook/documents.md': [/"citations":\[\{/],
  'docs/handbook/engines.md': [/"Answer":\["42"\]/, /^You asked: Is anybody there\?/m, /^You asked: Is anybody still there\?/m, /^You asked: Is anybody at the socket\?/m],
  'docs/handbook/evaluation.md': [/^mean cosine distance \d\.\d{4}, 95 % interval .* \(3 of 3 turns measured, 0 failed\)$/m, /^against [0-9a-f]{24}-\d+: mean difference /m, /^file:\/\/\S+ann\.html$/m, /"status":"done"/],
  'docs/handbook/limits.md': [/"code":"bad_request".* status 400$/m],
  'docs/handbook/lookups.md': [/"Fingerprint":"[0-9a-f]{12}"/],
  'docs/handbook/mcp.md': [/"structuredContent":\{"query":"lease","citations":\[/],
  'docs/handbook/rooms.md': [/"tagged":\["alice"\],"reply_to":"\d+-\d+"/, /^User_1 says: Is there an echo\?$/m],
  'docs/handbook/signing.md': [/("id":"User_1"[^]*){3}/],
  'docs/handbook/streaming.md': [/^event: sources$/m, /(^event: done$[^]*){2}/m],
  'docs/handbook/topics.md': [/"holiday":"Where is it warm in May\?"/],
  'docs/handbook/troubleshooting.md': [/healthy|degraded/],
  'docs/handbook/workflow-files.md': [/^workflows.yaml: no faults$/m],
  'docs/handbook/workflows.md': [/^The run is done\.$/m, /^exit code 3$/m, /^model\.verifyRequest no [^]*^10 rows$/m],
  'docs/handbook/your-data.md': [/"Done":true/],
  'docs/handbook/your-tools.md': [/"model":"parley\/documents"[^\n]*"annotations":\[\{"type":"url_citation"[^\n]*"title":"leases\.md"/],
};
const PAGE_MS = 170_000;

// [{kind, text}] of a page, in order.
const blocksOf = (name) => [...readFileSync(join(ROOT, name), 'utf8').matchAll(/^```(\w*)\n([^]*?)^```$/gm)].map(([, kind, text]) => ({ kind, text }));
const isRun = ({ kind, text }) => kind === 'sh' && !/^(?:\w+=\S* )*(\.\/dev|parley (account|engine|reindex|serve|top)|npm install)\b/m.test(text);
// A program that is to be saved begins with its name.
const filesOf = (name) => blocksOf(name).flatMap(({ kind, text }) => (['js', 'python'].includes(kind) ? [...text.matchAll(/^(?:\/\/|#) (\w+\.(?:mjs|py))\n/g)].map(([, file]) => ({ file, text })) : []));
// JSON that is shown on several lines for people to read has newlines in its strings.
const onOneLine = (text) => text.replace(/\n\s*/g, ' ');

// The commands of a block as words of one line each.
const commandsOf = (text) => text.replace(/\\\n/g, ' ').split('\n').filter(Boolean);

// A workflow file with that member of an agent.
function workflowWith(member) {
  const tree = 'WORKFLOWS:\n  ASK:\n    model.ask: {yes: null, no: sendMessageToChat}\n';
  return `${tree}AGENTS:\n  model.ask:\n    prompt: Is it so?\n${member.replace(/^/gm, '    ')}\n`;
}

suite('the code of the handbook', { args: ['--target=all'] }, ({ test, cluster }) => {
  const folder = makeFolder();
  const at = (path) => join(folder.dir, path);
  const pidFile = (name, { child }) => writeFileSync(at(`var/run/${name}.pid`), `${child.pid} 1\n`);
  let engine;

  async function startEngine() {
    const args = ['engine', '--url', cluster.nodes[0].url, '--user', 'Inference_1', '--secret-file', at('var/secrets/Inference_1'), '--wait', 10];
    engine = startProcess([...args, '--corpus', BOOK, '--index', at('var/handbook.index')]);
    await waitForOutput(engine, ({ stdout }) => /^parley engine: pulling/m.test(stdout), 60_000, 'the engine pulls');
    pidFile('engine', engine);
  }

  async function stopEngine() {
    engine.child.kill('SIGTERM');
    assert.deepEqual(await engine.exit(), { code: 0, signal: null }, engine.stderr);
  }

  // As in a checkout, but on the test's node and Redis.
  const here = (text) => text.replaceAll('"redis://127.0.0.1:$(cat var/run/redis.port)"', `'${cluster.redis.url}'`);

  // Runs the page's commands; resolves with {code, stdout, stderr, statuses} of its requests.
  function run(text) {
    rmSync(at('heads'), { force: true });
    const env = { ...cleanEnvironment({ XDG_CONFIG_HOME: at('config') }), PATH: `${at('bin')}:${process.env.PATH}`, HEADS: at('heads') };
    return new Promise((resolve) => {
      const options = { cwd: folder.dir, env, timeout: PAGE_MS, maxBuffer: 1 << 24 };
      execFile('bash', ['-eo', 'pipefail', '-c', `. var/env\n${text}`], options, (error, stdout, stderr) => {
        const heads = existsSync(at('heads')) ? readFileSync(at('heads'), 'latin1') : '';
        const statuses = [...heads.matchAll(/^HTTP\/\S+ (\d+)/gm)].map(([, status]) => Number(status)).filter((status) => status >= 200);
        resolve({ code: error ? (error.code ?? error.signal) : 0, stdout, stderr, statuses });
      });
    });
  }

  before(async () => {
    for (const name of ['bin', 'build/release', 'var/secrets', 'var/run']) mkdirSync(at(name), { recursive: true });
    symlinkSync(BIN, at('build/release/parley'));
    symlinkSync(join(ROOT, 'docs'), at('docs'));
    symlinkSync(join(ROOT, 'tests/node_modules'), at('node_modules'));
    copyFileSync(join(ROOT, 'README.md'), at('README.md'));
    copyFileSync(cluster.accountsFile, at('var/accounts.yaml'));
    for (const name of ACCOUNTS_OF_UP) writeFileSync(at(`var/secrets/${name}`), cluster.accounts[name].secret);
    const env = { PARLEY_URL: cluster.nodes[0].url, PARLEY_USER: 'User_1', PARLEY_SECRET_FILE: at('var/secrets/User_1'), PATH: `${at('build/release')}:$PATH` };
    writeFileSync(at('var/env'), Object.entries(env).map(([name, value]) => `export ${name}="${value}"\n`).join(''));
    const curl = execFileSync('which', ['curl'], { encoding: 'utf8' }).trim();
    writeFileSync(at('bin/curl'), `#!/bin/sh\nhead=$(mktemp)\n${curl} -D "$head" --max-time 150 "$@"\ncode=$?\ncat "$head" >>"$HEADS"\nrm "$head"\nexit $code\n`);
    chmodSync(at('bin/curl'), 0o755);
    for (const [path, pages] of [['handbook', BOOK], ['handbook/operations', OPERATIONS]]) {
      const args = ['ingest', '--redis', cluster.redis.url, '--collection', 'public', '--base-url', `${cluster.nodes[0].url}/${path}`, pages];
      const { code, stderr } = await runParley(args, { timeout: 120_000 });
      assert.equal(code, 0, stderr);
    }
  });
  after(() => folder.remove());

  for (const name of PAGES) {
    const commands = blocksOf(name).filter(isRun);
    if (commands.length === 0) continue;
    test(`${name}: what it says to paste works`, async () => {
      await forgetLimits(cluster);
      await startEngine();
      const node = await cluster.startNode();
      pidFile('node1', node);
      for (const { file, text } of filesOf(name)) writeFileSync(at(file), text);
      try {
        const text = here(commands.map((block) => block.text).join('\n'));
        const { code, stdout, stderr, statuses } = await run(text);
        assert.equal(code, 0, `${text}\n--- said\n${stdout}\n${stderr}`);
        assert.ok(statuses.length > 0 || !/\bcurl\b/.test(text), text);
        const refused = statuses.filter((status) => status >= 300);
        assert.deepEqual(refused, REFUSALS[name] ?? [], `${text}\n--- said\n${stdout}\n${stderr}`);
        for (const result of RESULTS[name] ?? []) assert.match(stdout, result);
        // Answers are sentences, which an example may follow, not the examples themselves.
        for (const [, answer] of stdout.matchAll(/"(?:answer|Answer)":\[?"((?:[^"\\]|\\.)*)"/g)) assert.ok(!answer.startsWith('```'), answer);
      } finally {
        if (engine.child.exitCode === null && engine.child.signalCode === null) await stopEngine();
        await node.stop();
        cluster.nodes.splice(cluster.nodes.indexOf(node), 1);
      }
    });
  }

  test('no command of a page is bound to a port, or has a flag without an effect', () => {
    for (const name of PAGES) for (const { text } of blocksOf(name).filter(isRun)) assert.doesNotMatch(text, /127\.0\.0\.1:8080|--method|build\/release/, name);
  });

  test('every other command of a page is one that a shell takes, with flags that the program has', async () => {
    let n = 0;
    const help = new Map();
    const of = (pages, isOther) => pages.flatMap((name) => blocksOf(name).filter(isOther).map(({ text }) => ({ name, text })));
    const others = [...of(PAGES, (one) => one.kind === 'sh' && !isRun(one)), ...of(pagesOf('docs/operations'), ({ kind }) => kind === 'sh')];
    for (const { name, text } of others) {
      execFileSync('bash', ['-n', '-c', text]);
      for (const line of commandsOf(text)) {
        const [, command] = /^parley (\w+)/.exec(line) ?? [];
        if (!command) continue;
        if (!help.has(command)) help.set(command, (await runParley([command, '--help'])).stdout);
        for (const [flag] of line.matchAll(/(?<=\s)--[a-z0-9-]+/g)) {
          assert.match(help.get(command), new RegExp(`^  (-\\w, )?${flag}\\b`, 'm'), `${name}: ${line}`);
          n += 1;
        }
      }
    }
    assert.ok(n > 5, `${n} flags were looked up`);
  });

  test('every example of an accounts or workflow file is one that nodes take, and every example of JSON is JSON', async () => {
    const seen = { yaml: 0, json: 0 };
    for (const name of PAGES) {
      for (const { kind, text } of blocksOf(name)) {
        if (kind === 'json') JSON.parse(onOneLine(text));
        if (kind === 'yaml') {
          const path = folder.file('example.yaml', text.startsWith('hitl:') ? workflowWith(text) : text);
          const check = /^(WORKFLOWS|hitl):/.test(text) ? ['workflow', 'check', path] : ['serve', '--check-config', '--accounts', path];
          const { code, stderr } = await runParley(check);
          assert.equal(code, 0, `${name}: ${stderr}`);
        }
        if (kind in seen) seen[kind] += 1;
      }
    }
    assert.ok(seen.yaml > 2 && seen.json > 0, JSON.stringify(seen));
  });

  // The built-in model copies what resembles a question: an example must not be the best match for its own subject.
  test('no example of the handbook asks what a heading asks', () => {
    const headings = PAGES.flatMap((name) => [...readFileSync(join(ROOT, name), 'utf8').matchAll(/^## (.*\?)$/gm)].map(([, heading]) => heading));
    for (const name of PAGES.filter((one) => one.startsWith('docs/'))) {
      for (const { text } of blocksOf(name)) for (const heading of headings) assert.ok(!text.includes(heading), `${name}: ${heading}`);
    }
    assert.ok(headings.length > 100);
  });

  test('every judged passage of the handbook stands in its page', () => {
    const plain = (text) => text.replace(/\s+/g, ' ').toLowerCase();
    const judged = JSON.parse(readFileSync(join(ROOT, 'tests/bench/retrieval/questions.json'), 'utf8'));
    const missing = judged.filter(({ file, passage }) => !plain(readFileSync(join(BOOK, file), 'utf8')).includes(plain(passage)));
    assert.deepEqual(missing, []);
  });
});
