// SPDX-License-Identifier: MIT
//
// Claude Code as npm has it, with the settings of the handbook, works on two nodes, one of which is killed in the middle of a tool
// call: it sends the request again, and the model server is not asked twice.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MESSAGES, skip, surviveKill, TOOLS } from '../support/agents.mjs';
import { ROOT, startProcess, suite } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // what a client sees: the same on any number of shards

const BIN = 'node_modules/@anthropic-ai/claude-code-linux-x64/claude';

// Those of the handbook, for another address and model.
function settings(url, model, key) {
  const page = readFileSync(join(ROOT, 'docs/handbook/your-tools.md'), 'utf8');
  const [, words] = /\nexport (ANTHROPIC_BASE_URL=.*)\n/.exec(page);
  const filled = words.replace('https://parley.example', url).replaceAll('llama3', model).replace('"$OPENAI_API_KEY"', key);
  return Object.fromEntries(filled.split(' ').map((word) => word.split(/=(.*)/s)));
}

function startClaude(folder, url, key) {
  const env = {
    HOME: join(folder.dir, 'home'),
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    ...settings(url, 'm', key),
  };
  const words = ['-p', '--allowedTools', 'Bash', '--', 'Say what the shell says.'];
  return startProcess(words, { bin: join(TOOLS, BIN), cwd: join(folder.dir, 'work'), env });
}

suite('Claude Code', { nodes: 2 }, ({ test, cluster }) => {
  test('runs a command by a tool call whose node is killed in the middle', async () => {
    const { stdout, requests } = await surviveKill(cluster, {
      start: startClaude,
      call: () => ({ name: 'Bash', args: { command: 'echo $((6 * 7)) is the meaning', description: 'Says it' } }),
    });
    assert.match(stdout, /The tool says: 42 is the meaning/);
    assert.ok(requests.every(({ path }) => path === '/v1/messages'), JSON.stringify(requests));
  }, { skip, ms: 300_000 });

  test('does the same with a model server that has its interface, and sends it back what it has signed', async () => {
    const { stdout, seen } = await surviveKill(cluster, {
      start: startClaude,
      model: MESSAGES,
      call: () => ({ name: 'Bash', args: { command: 'echo $((6 * 7)) is the meaning', description: 'Says it' } }),
    });
    assert.match(stdout, /The tool says: 42 is the meaning/);
    assert.ok(seen.every(({ path }) => path.startsWith('/v1/messages')), JSON.stringify(seen.map(({ path }) => path)));
    const blocks = seen.at(-1).body.messages.flatMap(({ content }) => content);
    assert.ok(blocks.some(({ type, thinking, signature }) => type === 'thinking' && thinking === 'Hm.' && signature === 'c2ln'), JSON.stringify(blocks));
    assert.ok(blocks.some(({ cache_control }) => cache_control), 'marks for a cache reach the server');
  }, { skip, ms: 300_000 });
});
