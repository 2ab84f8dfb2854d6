// SPDX-License-Identifier: MIT
//
// agents: programs of others that work by calls of tools, as npm has them, in front of two nodes. One of the nodes is killed in the
// middle of the call that the model answers with, so the program sends its request again.
//
//   const { stdout, requests } = await surviveKill(cluster, {
//     start: (folder, url, key) => startProcess(…),      the program, with its model `m`
//     call: (folder) => ({ name, args }),                what the model answers the first request with
//     check: (folder) => …,                              when it has ended with 0
//   });
//
// The model answers the result of the tool with `The tool says: <result>`.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startBalancer } from './balancer.mjs';
import { chunk } from './door_model.mjs';
import { eventually, makeFolder } from './harness.mjs';
import { startServed } from './openai_served.mjs';

export const TOOLS = process.env.PARLEY_TEST_TOOLS;
export const skip = TOOLS ? false : 'PARLEY_TEST_TOOLS names no folder (tests/tools.sh)';

const callPart = (part) => chunk({ tool_calls: [{ index: 0, ...part }] });
const resultIn = ({ messages }) => messages.findLast(({ role }) => role === 'tool');

// Answers as the model: a call of the tool, held in its middle until the promise `dead`, then a text. Requests without tools are asides.
function answerWith({ name, args }, dead) {
  return async ({ body }, response) => {
    if (!body.tools) return response.events([chunk({ content: 'A title' }), chunk({}, 'stop')]);
    const result = resultIn(body);
    if (result) return response.events([chunk({ content: `The tool says: ${result.content}` }), chunk({}, 'stop')]);
    const text = JSON.stringify(args);
    response.event(callPart({ id: 'call_1', type: 'function', function: { name, arguments: '' } }));
    response.event(callPart({ function: { arguments: text.slice(0, 10) } }));
    await dead;
    return response.events([callPart({ function: { arguments: text.slice(10) } }), chunk({}, 'tool_calls')]);
  };
}

export async function surviveKill(cluster, { start, call, check = () => {} }) {
  const folder = makeFolder();
  for (const name of ['work', 'home']) mkdirSync(join(folder.dir, name));
  const victim = await cluster.startNode();
  const balancer = await startBalancer();
  balancer.choose = () => (victim.alive ? victim : cluster.nodes[0]).url;
  let isDead;
  const dead = new Promise((resolve) => (isDead = resolve));
  const served = await startServed(cluster, answerWith(call(folder), dead), ['--slots', 2]);
  const agent = start(folder, balancer.url, `User_1:${cluster.accounts.User_1.secret}`);
  try {
    const asked = () => served.model.seen.filter(({ body }) => body.tools && !resultIn(body));
    await eventually(() => asked().length === 1, { what: 'the model is asked to use a tool', ms: 90_000 });
    await eventually(async () => (await cluster.redis.cmd('KEYS', '*partials:*')).length > 0, { what: 'the beginning of its call is stored' });
    await victim.kill();
    cluster.nodes.splice(cluster.nodes.indexOf(victim), 1);
    isDead();
    const { code } = await agent.exit(120_000);
    assert.equal(code, 0, agent.stdout + agent.stderr);
    assert.equal(asked().length, 1, 'the second request takes the place of the first');
    assert.ok(balancer.requests.filter(({ node }) => node === cluster.nodes[0].url).length >= 2);
    check(folder);
    return { stdout: agent.stdout, requests: balancer.requests };
  } catch (error) {
    console.error(`--- log of the program\n${agent.stdout}${agent.stderr}`.slice(-12_000));
    throw error;
  } finally {
    agent.child.kill('SIGKILL');
    isDead();
    await served.stop();
    folder.remove();
  }
}
