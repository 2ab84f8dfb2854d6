// SPDX-License-Identifier: MIT
//
// opencode as npm has it, with the settings of the handbook, works on two nodes, one of which is killed in the middle of a tool
// call: it sends the request again, and the model server is not asked twice.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startBalancer } from '../support/balancer.mjs';
import { chunk } from '../support/door_model.mjs';
import { eventually, makeFolder, ROOT, startProcess, suite } from '../support/harness.mjs';
import { startServed } from '../support/openai_served.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // what a client sees: the same on any number of shards

const TOOLS = process.env.PARLEY_TEST_TOOLS;
const skip = TOOLS ? false : 'PARLEY_TEST_TOOLS names no folder (tests/tools.sh)';
const TEXT = 'Leases last 150 seconds.\n';

// That of the handbook, for another address and model.
function settings(url, model) {
  const page = readFileSync(join(ROOT, 'docs/handbook/your-tools.md'), 'utf8');
  const [, text] = /```json\n(\{\n {2}"\$schema": "https:\/\/opencode\.ai\/[^]*?)```/.exec(page);
  return text.replace('https://parley.example', url).replace('llama3', model);
}

function startOpencode(folder, config, key, words) {
  const inside = (name) => join(folder.dir, name);
  const env = {
    HOME: inside('home'),
    PWD: inside('work'), // which it believes rather than where it is
    ...Object.fromEntries(['DATA', 'CONFIG', 'CACHE', 'STATE'].map((name) => [`XDG_${name}_HOME`, inside(`home/${name}`)])),
    ...Object.fromEntries(['MODELS_FETCH', 'AUTOUPDATE', 'LSP_DOWNLOAD', 'DEFAULT_PLUGINS', 'SHARE'].map((name) => [`OPENCODE_DISABLE_${name}`, '1'])),
    OPENCODE_CONFIG: folder.file('opencode.json', config),
    OPENAI_API_KEY: key,
  };
  return startProcess(['run', '--auto', '--print-logs', ...words], { bin: join(TOOLS, 'node_modules/opencode-linux-x64/bin/opencode'), cwd: inside('work'), env });
}

suite('opencode', { nodes: 2 }, ({ test, cluster }) => {
  test('writes a file by a tool call whose node is killed in the middle', async () => {
    const folder = makeFolder();
    mkdirSync(join(folder.dir, 'work'));
    const file = join(folder.dir, 'work/leases.md');
    const victim = await cluster.startNode();
    const balancer = await startBalancer();
    balancer.choose = () => (victim.alive ? victim : cluster.nodes[0]).url;
    let isDead;
    const dead = new Promise((resolve) => (isDead = resolve));
    const call = (part) => chunk({ tool_calls: [{ index: 0, ...part }] });
    const served = await startServed(cluster, async ({ body }, response) => {
      const last = body.messages.at(-1);
      if (!body.tools) return response.events([chunk({ content: 'A title' }), chunk({}, 'stop')]);
      if (last.role === 'tool') return response.events([chunk({ content: `The tool says: ${last.content}` }), chunk({}, 'stop')]);
      response.event(call({ id: 'call_1', type: 'function', function: { name: 'write', arguments: '' } }));
      const text = JSON.stringify({ filePath: file, content: TEXT });
      response.event(call({ function: { arguments: text.slice(0, 10) } }));
      await dead;
      return response.events([call({ function: { arguments: text.slice(10) } }), chunk({}, 'tool_calls')]);
    }, ['--slots', 2]);
    const opencode = startOpencode(folder, settings(balancer.url, 'm'), `User_1:${cluster.accounts.User_1.secret}`, ['--model', 'parley/m', 'Write down how long leases last.']);
    try {
      const asked = () => served.model.seen.filter(({ body }) => body.tools && body.messages.at(-1).role !== 'tool');
      await eventually(() => asked().length === 1, { what: 'the model is asked to use a tool', ms: 90_000 });
      await eventually(async () => (await cluster.redis.cmd('KEYS', '*partials:*')).length > 0, { what: 'the beginning of its call is stored' });
      await victim.kill();
      cluster.nodes.splice(cluster.nodes.indexOf(victim), 1);
      isDead();
      const { code } = await opencode.exit(120_000);
      assert.equal(code, 0, opencode.stdout + opencode.stderr);
      assert.equal(readFileSync(file, 'utf8'), TEXT);
      assert.match(opencode.stdout, /The tool says: Wrote file successfully/);
      assert.equal(asked().length, 1, 'the second request takes the place of the first');
      assert.ok(balancer.requests.filter(({ node }) => node === cluster.nodes[0].url).length >= 2);
    } catch (error) {
      console.error(`--- log of opencode\n${opencode.stdout}${opencode.stderr}`.slice(-12_000));
      throw error;
    } finally {
      opencode.child.kill('SIGKILL');
      isDead();
      await served.stop();
      folder.remove();
    }
  }, { skip, ms: 300_000 });
});
