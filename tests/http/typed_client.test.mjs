// SPDX-License-Identifier: MIT
//
// A client with types, made by a generator from npm of what a node serves as /openapi.yaml: it compiles under the strictest
// settings, and a question is asked, claimed, answered and read through it (tests/support/typed_cycle.ts).
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { ACCOUNTS, newTopic, sign, suite } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // types come from a text, and one question goes through: the same on any number of shards

const MODULES = fileURLToPath(new URL('../node_modules', import.meta.url));
const CYCLE = fileURLToPath(new URL('../support/typed_cycle.ts', import.meta.url));
const SETTINGS = {
  compilerOptions: {
    strict: true,
    noUncheckedIndexedAccess: true,
    noUnusedLocals: true,
    exactOptionalPropertyTypes: true,
    skipDefaultLibCheck: true,
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable'],
    module: 'nodenext',
    types: [],
  },
  files: ['typed_cycle.ts'],
};

// Runs a program of tests/node_modules; what it printed is in the message when it fails.
async function run(folder, program, ...args) {
  try {
    return await promisify(execFile)(process.execPath, [join(MODULES, program), ...args], { cwd: folder });
  } catch (error) {
    throw new Error(`${program} ${args.join(' ')}\n${error.stdout}\n${error.stderr}`);
  }
}

suite('a typed client made from /openapi.yaml', {}, ({ test, cluster }) => {
  async function withFolder(use) {
    const folder = mkdtempSync(join(tmpdir(), 'parley-client-'));
    try {
      symlinkSync(MODULES, join(folder, 'node_modules'));
      writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(SETTINGS));
      copyFileSync(CYCLE, join(folder, 'typed_cycle.ts'));
      writeFileSync(join(folder, 'openapi.yaml'), (await cluster.request('GET', '/openapi.yaml')).body);
      await run(folder, 'openapi-typescript/bin/cli.js', 'openapi.yaml', '-o', 'schema.d.ts');
      await use(folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  test('compiles, asks, claims, answers and reads', () =>
    withFolder(async (folder) => {
      await run(folder, 'typescript/bin/tsc', '-p', '.');
      const { cycle } = await import(pathToFileURL(join(folder, 'typed_cycle.js')).href);
      const Topic = newTopic();
      const signed = (account) => sign(account, ACCOUNTS[account].secret);
      const { Seq, claim, answered, checked, code, status, front } = await cycle(cluster.nodes[0].url, signed, Topic);
      assert.deepEqual([Seq, claim.Topic, claim.Queries, answered.Status], [1, Topic, [{ 1: 'What is the meaning of life?' }], 'Done']);
      assert.deepEqual(claim.Details[1].Modifiers, { Tone: 'dry' });
      assert.deepEqual(checked, { Query: 'What is the meaning of life?', Topic, Seq: 1, Answer: ['42'], Think: ['Hm.'] });
      assert.deepEqual([code, status, front.name], ['not_found', 404, 'Parley']);
    }));

  test('would not compile if check-query could be a text as well', () =>
    withFolder(async (folder) => {
      const line = 1 + readFileSync(CYCLE, 'utf8').split('\n').findIndex((one) => one.includes('same<Omit<typeof checked, '));
      const text = (await cluster.request('GET', '/openapi.yaml')).text;
      const [before, after] = text.split('operationId: checkQuery');
      const both = after.replace(/^ {10}x-alternatives:\n/m, '');
      assert.notEqual(both, after);
      writeFileSync(join(folder, 'openapi.yaml'), `${before}operationId: checkQuery${both}`);
      await run(folder, 'openapi-typescript/bin/cli.js', 'openapi.yaml', '-o', 'schema.d.ts');
      await assert.rejects(run(folder, 'typescript/bin/tsc', '-p', '.'), new RegExp(`typed_cycle\\.ts\\(${line},\\d+\\): error TS`));
    }));
});
