// SPDX-License-Identifier: MIT
//
// docs/handbook/workflows.md: the run on a terminal that it shows is what a terminal shows. Its other code is run by
// tests/documents/handbook_code.test.mjs.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withEngines } from '../support/engines.mjs';
import { ACCOUNTS, BIN, makeFolder, ROOT, startProcess, suite, waitForOutput } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // what a terminal shows: the same on any number of shards

const PAGE = readFileSync(join(ROOT, 'docs/handbook/workflows.md'), 'utf8');
const PROMPT = 'Approve? y, n, or a correction (NAME=VALUE, or a new text of the request): ';
const folder = makeFolder();

suite('the run that the handbook shows', { args: ['--target=all'], env: { PARLEY_SQL_URL: `sqlite:${join(folder.dir, 'workflow.db')}` }, sweep: false }, ({ test, cluster }) => {
  test('a terminal shows the lines of the page, up to where a person corrects the request, and on', async () => {
    const [, shown] = /^```console\n\$ parley workflow run ([^]*?)^```$/m.exec(PAGE);
    const [command, ...lines] = shown.trimEnd().split('\n');
    const at = lines.findIndex((line) => line.startsWith(PROMPT));
    assert.ok(at > 0, 'the page shows the prompt');
    const secret = folder.file('secret', ACCOUNTS.User_1.secret);
    await withEngines(cluster, async ({ start }) => {
      await start();
      const words = `${BIN} workflow run --url ${cluster.nodes[0].url} --user User_1 --secret-file ${secret} ${command}`;
      const terminal = startProcess(['-qec', words, '/dev/null'], { bin: 'script', input: null });
      await waitForOutput(terminal, ({ stdout }) => stdout.includes(PROMPT), 60_000, 'the prompt');
      terminal.child.stdin.write(`${lines[at].slice(PROMPT.length)}\n`);
      await waitForOutput(terminal, ({ stdout }) => stdout.includes('The run is done.'), 60_000, 'the end');
      terminal.child.stdin.end();
      assert.equal((await terminal.exit()).code, 0, terminal.stdout);
      const printed = terminal.stdout.replaceAll('\r', '');
      assert.ok(printed.startsWith(lines.join('\n')), `the page:\n${lines.join('\n')}\n--- the terminal:\n${printed}`);
    });
    folder.remove();
  });
});
