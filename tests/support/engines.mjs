// SPDX-License-Identifier: MIT
//
// engines: the real engine against the nodes of a test, with a stub as the model server.
//
//   await withEngines(cluster, async ({ start, llm, model, corpus }) => {
//     const engine = await start([...model, '--slots', 1]);   // resolves when it says that it pulls
//     … await engine.stop();                                  // {code, signal}
//   });
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ACCOUNTS, makeFolder, startProcess, waitForOutput } from './harness.mjs';
import { startLlm } from './llm_stub.mjs';

const READY = /^parley engine: pulling from \S+ as \S+$/m;
const SECRET = ACCOUNTS.Inference_1.secret;

const HANDBOOK = {
  'leases.md': '# Leases\n\nA lease lasts 150 seconds unless a setting says otherwise. Heartbeats renew it in time.\n',
  'fruit/bananas.html': '<html><body><h1>Fruit</h1><p>Bananas are yellow &amp; grow in the tropics.</p></body></html>',
  'signing.txt': 'Every request is signed with a nonce. A nonce works once per account for a day.\n',
};

// One engine, which its caller ends with engine.stop(). `secretFile`: one that is there already. `all`: a list that gets
// the engine before it is ready.
// PARLEY_TEST_TRANSPORT: its --transport, unless the test names one.
const TRANSPORT = () => (process.env.PARLEY_TEST_TRANSPORT ? ['--transport', process.env.PARLEY_TEST_TRANSPORT] : []);

export async function startEngine(cluster, args = [], { nodes = cluster.nodes, env = {}, ready = true, secretFile, all, bin } = {}) {
  const folder = secretFile ? undefined : makeFolder();
  const engine = startProcess(
    ['engine', '--url', nodes.map(({ url }) => url).join(','), '--user', 'Inference_1', '--secret-file', secretFile ?? folder.file('secret', `${SECRET}\n`), '--wait', 20, ...TRANSPORT(), ...args],
    { env, bin },
  );
  all?.push(engine);
  engine.stop = async (signal = 'SIGTERM') => {
    engine.stopped = true;
    engine.child.kill(signal);
    const end = await engine.exit();
    folder?.remove();
    return end;
  };
  if (ready) await waitForOutput(engine, ({ stdout }) => READY.exec(stdout), 60_000, 'the line that the engine pulls');
  return engine;
}

// Runs `body({start, folder, corpus, llm})`, then ends every engine and the stub. start(nodes, args)
// resolves once the engine says that it pulls.
export async function withEngines(cluster, body) {
  const folder = makeFolder();
  const llm = await startLlm();
  const engines = [];
  const secretFile = folder.file('secret', `${SECRET}\n`);
  mkdirSync(join(folder.dir, 'corpus/fruit'), { recursive: true });
  for (const [name, text] of Object.entries(HANDBOOK)) folder.file(`corpus/${name}`, text);
  const corpus = join(folder.dir, 'corpus');
  const start = (args = [], options = {}) => startEngine(cluster, args, { ...options, secretFile, all: engines });
  try {
    await body({ start, folder, corpus, llm, model: ['--llm', llm.url, '--model', 'stub'] });
    for (const engine of engines.filter(({ stopped }) => !stopped)) {
      assert.deepEqual(await engine.stop(), { code: 0, signal: null }, engine.stderr);
    }
    for (const { stdout, stderr } of engines) {
      assert.doesNotMatch(stderr, /Sanitizer|runtime error:/);
      assert.ok(!stderr.includes(SECRET) && !stdout.includes(SECRET), 'no secret in what it prints');
    }
  } catch (error) {
    for (const { stderr } of engines) console.error(`--- log of an engine\n${stderr.slice(-6000)}\n---`);
    throw error;
  } finally {
    for (const engine of engines) engine.child.kill('SIGKILL');
    await llm.stop();
    folder.remove();
  }
}
