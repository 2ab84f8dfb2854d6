// SPDX-License-Identifier: MIT
//
// Codex as npm has it, with the settings of the handbook, works on two nodes, one of which is killed in the middle of a tool call:
// it sends the same bytes again, and the model server is not asked twice.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { skip, surviveKill, TOOLS } from '../support/agents.mjs';
import { ROOT, startProcess, suite } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // what a client sees: the same on any number of shards

const BIN = 'node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex';

// Those of the handbook, for another address and model.
function settings(url, model) {
  const page = readFileSync(join(ROOT, 'docs/handbook/your-tools.md'), 'utf8');
  const [, text] = /```toml\n(model_provider = "parley"\n[^]*?)```/.exec(page);
  return text.replace('https://parley.example', url).replace('llama3', model);
}

function startCodex(folder, url, key) {
  folder.file('home/config.toml', settings(url, 'm'));
  const home = join(folder.dir, 'home');
  const env = { HOME: home, CODEX_HOME: home, OPENAI_API_KEY: key };
  // The folder is no repository, and a container may not let it make a sandbox.
  const words = ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', 'Say what the shell says.'];
  return startProcess(words, { bin: join(TOOLS, BIN), cwd: join(folder.dir, 'work'), env });
}

suite('Codex', { nodes: 2 }, ({ test, cluster }) => {
  test('runs a command by a tool call whose node is killed in the middle', async () => {
    const { stdout, requests } = await surviveKill(cluster, {
      start: startCodex,
      call: () => ({ name: 'exec_command', args: { cmd: 'echo $((6 * 7)) is the meaning' } }),
    });
    assert.match(stdout, /The tool says: [^]*42 is the meaning/);
    assert.ok(requests.every(({ path }) => /^\/v1\/(responses|models)$/.test(path)), JSON.stringify(requests));
  }, { skip, ms: 300_000 });
});
