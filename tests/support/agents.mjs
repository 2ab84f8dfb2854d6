// SPDX-License-Identifier: MIT
//
// agents: programs of others that work by calls of tools, as npm has them, in front of two nodes. One of the nodes is killed in the
// middle of the call that the model answers with, so the program sends its request again.
//
//   const { stdout, requests } = await surviveKill(cluster, {
//     start: (folder, url, key) => startProcess(…),      the program, with its model `m`
//     call: (folder) => ({ name, args }),                what the model answers the first request with
//     check: (folder) => …,                              when it has ended with 0
//     model: MESSAGES,                                   what the model server speaks; without, chat completions
//   });
//
// The model answers the result of the tool with `The tool says: <result>`.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { blockDelta, blockStart, blockStop, messageDelta, messageStart, textEvents } from './anthropic.mjs';
import { startBalancer } from './balancer.mjs';
import { chunk } from './door_model.mjs';
import { eventually, makeFolder } from './harness.mjs';
import { startServed } from './openai_served.mjs';

export const TOOLS = process.env.PARLEY_TEST_TOOLS;
export const skip = TOOLS ? false : 'PARLEY_TEST_TOOLS names no folder (tests/tools.sh)';

const callPart = (part) => chunk({ tool_calls: [{ index: 0, ...part }] });

// Model servers: the result of the tool in a request, and what they say: a text; a call of the tool, in two parts.
const CHAT = {
  args: [],
  resultIn: ({ messages }) => messages.findLast(({ role }) => role === 'tool')?.content,
  say: (response, text) => response.events([chunk({ content: text }), chunk({}, 'stop')]),
  begin(response, name, text) {
    response.event(callPart({ id: 'call_1', type: 'function', function: { name, arguments: '' } }));
    response.event(callPart({ function: { arguments: text.slice(0, 10) } }));
  },
  end: (response, name, text) => response.events([callPart({ function: { arguments: text.slice(10) } }), chunk({}, 'tool_calls')]),
};
const LAST = { type: 'message_stop' };
// Claude Code sends another request, not the same one again, once it has a whole block of an answer that breaks off.
export const MESSAGES = {
  args: ['--apis', 'messages'],
  resultIn({ messages }) {
    const found = messages.flatMap(({ content }) => (Array.isArray(content) ? content : [])).findLast(({ type }) => type === 'tool_result');
    return Array.isArray(found?.content) ? found.content.map(({ text }) => text).join('') : found?.content;
  },
  say: (response, text) => response.named([messageStart(), ...textEvents(text), messageDelta({ stop_reason: 'end_turn', stop_sequence: null }, { output_tokens: 5 }), LAST]),
  begin: (response) => response.named([messageStart(), blockStart(0, { type: 'thinking', thinking: '', signature: '' }), blockDelta(0, { type: 'thinking_delta', thinking: 'H' })], { end: false }),
  end: (response, name, text) => response.named([
    blockDelta(0, { type: 'thinking_delta', thinking: 'm.' }), blockDelta(0, { type: 'signature_delta', signature: 'c2ln' }), blockStop(0),
    blockStart(1, { type: 'tool_use', id: 'toolu_1', name, input: {} }), blockDelta(1, { type: 'input_json_delta', partial_json: text }), blockStop(1),
    messageDelta({ stop_reason: 'tool_use', stop_sequence: null }, { output_tokens: 5 }), LAST,
  ]),
};

// Answers as the model: a call of the tool, held in its middle until the promise `dead`, then a text. Requests without tools are asides.
function answerWith(model, { name, args }, dead) {
  return async ({ body }, response) => {
    if (!body.tools?.length) return model.say(response, 'A title');
    const result = model.resultIn(body);
    if (result !== undefined) return model.say(response, `The tool says: ${result}`);
    const text = JSON.stringify(args);
    model.begin(response, name, text);
    await dead;
    return model.end(response, name, text);
  };
}

export async function surviveKill(cluster, { start, call, check = () => {}, model = CHAT }) {
  const folder = makeFolder();
  for (const name of ['work', 'home']) mkdirSync(join(folder.dir, name));
  const victim = await cluster.startNode();
  const balancer = await startBalancer();
  balancer.choose = () => (victim.alive ? victim : cluster.nodes[0]).url;
  let isDead;
  const dead = new Promise((resolve) => (isDead = resolve));
  const served = await startServed(cluster, answerWith(model, call(folder), dead), ['--slots', 2, ...model.args]);
  const agent = start(folder, balancer.url, `User_1:${cluster.accounts.User_1.secret}`);
  try {
    const asked = () => served.model.seen.filter(({ body }) => body.tools?.length && model.resultIn(body) === undefined);
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
    return { stdout: agent.stdout, requests: balancer.requests, seen: served.model.seen };
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
