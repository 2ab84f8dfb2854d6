// SPDX-License-Identifier: MIT
//
// opencode as npm has it, with the settings of the handbook, works on two nodes, one of which is killed in the middle of a tool
// call: it sends the request again, and the model server is not asked twice.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { skip, surviveKill, TOOLS } from '../support/agents.mjs';
import { ROOT, startProcess, suite } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // what a client sees: the same on any number of shards

const TEXT = 'Leases last 150 seconds.\n';
const fileIn = (folder) => join(folder.dir, 'work/leases.md');

// That of the handbook, for another address and model.
function settings(url, model) {
  const page = readFileSync(join(ROOT, 'docs/handbook/your-tools.md'), 'utf8');
  const [, text] = /```json\n(\{\n {2}"\$schema": "https:\/\/opencode\.ai\/[^]*?)```/.exec(page);
  return text.replace('https://parley.example', url).replace('llama3', model);
}

function startOpencode(folder, url, key) {
  const inside = (name) => join(folder.dir, name);
  const env = {
    HOME: inside('home'),
    PWD: inside('work'), // which it believes rather than where it is
    ...Object.fromEntries(['DATA', 'CONFIG', 'CACHE', 'STATE'].map((name) => [`XDG_${name}_HOME`, inside(`home/${name}`)])),
    ...Object.fromEntries(['MODELS_FETCH', 'AUTOUPDATE', 'LSP_DOWNLOAD', 'DEFAULT_PLUGINS', 'SHARE'].map((name) => [`OPENCODE_DISABLE_${name}`, '1'])),
    OPENCODE_CONFIG: folder.file('opencode.json', settings(url, 'm')),
    OPENAI_API_KEY: key,
  };
  const words = ['run', '--auto', '--print-logs', '--model', 'parley/m', 'Write down how long leases last.'];
  return startProcess(words, { bin: join(TOOLS, 'node_modules/opencode-linux-x64/bin/opencode'), cwd: inside('work'), env });
}

suite('opencode', { nodes: 2 }, ({ test, cluster }) => {
  test('writes a file by a tool call whose node is killed in the middle', async () => {
    const { stdout } = await surviveKill(cluster, {
      start: startOpencode,
      call: (folder) => ({ name: 'write', args: { filePath: fileIn(folder), content: TEXT } }),
      check: (folder) => assert.equal(readFileSync(fileIn(folder), 'utf8'), TEXT),
    });
    assert.match(stdout, /The tool says: Wrote file successfully/);
  }, { skip, ms: 300_000 });
});
