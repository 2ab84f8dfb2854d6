// SPDX-License-Identifier: MIT
//
// evaluations: what tests of `parley evaluate` share.
//
//   conversationOf(n)              JSON lines with n turns: Bob asks, Ann answers
//   QUESTION(i), ORIGINAL(i)       their texts, from 1 on
//   const bot = await startBot(({ text, i, n }) => answer)   a bot's endpoint; what it answers: an object, or {status, body}; bot.calls
//   await registerBot(cluster, 'name', bot.url)
//   const commands = evaluateCommands(cluster)               parley evaluate, with a folder of its own for files and state
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { assertOk } from './harness.mjs';
import { userCommands } from './user_command.mjs';

const THINGS = ['garden', 'harbor', 'kitchen', 'library', 'mountain', 'orchard', 'river', 'station', 'theater', 'workshop'];
const thing = (i) => `${THINGS[i % THINGS.length]} number ${i}`;

export const PERSON = 'Ann Miller';
export const QUESTION = (i) => `What do you remember of the ${thing(i)}?`;
export const ORIGINAL = (i) => `I was often in the ${thing(i)} and it was always ${i % 2 ? 'loud' : 'quiet'} there.`;

export const messagesOf = (n) => Array.from({ length: n }, (_, i) => [
  { from: 'Bob', text: QUESTION(i + 1), id: `q${i + 1}` },
  { from: PERSON, text: ORIGINAL(i + 1), id: `a${i + 1}` },
]).flat();
export const linesOf = (messages) => messages.map((message) => `${JSON.stringify(message)}\n`).join('');
export const conversationOf = (n) => linesOf(messagesOf(n));

// The number of the turn in a message of conversationOf.
export const turnOf = (text) => Number(/number (\d+)\?/.exec(text)?.[1]);

export async function startBot(answer) {
  const bot = { calls: [] };
  const server = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks));
    const call = { headers: request.headers, body, text: body.message.text, i: turnOf(body.message.text), n: bot.calls.length + 1 };
    bot.calls.push(call);
    const { status = 200, body: text = '', ...rest } = await answer(call);
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(text || JSON.stringify(rest));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  bot.url = `http://127.0.0.1:${server.address().port}/bot`;
  bot.stop = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return bot;
}

// Registers a bot of User_1; without an endpoint it pulls.
export const registerBot = async (cluster, username, endpoint) =>
  assertOk(await cluster.request('POST', '/api/bots', { as: 'User_1', body: { username, emulates: PERSON, endpoint } }), 201);

export function evaluateCommands(cluster, options) {
  const commands = userCommands(cluster, { as: 'User_1', command: 'evaluate', ...options });
  const env = { XDG_STATE_HOME: commands.file('state') };
  const withState = (more) => ({ ...more, env: { ...env, ...more?.env } });
  return {
    ...commands,
    env,
    // What it remembers of runs whose results were not shown.
    stateFiles: () => (existsSync(join(env.XDG_STATE_HOME, 'parley')) ? readdirSync(join(env.XDG_STATE_HOME, 'parley')) : []),
    run: (words, more) => commands.run(words, { timeout: 120_000, ...withState(more) }),
    start: (words, more) => commands.start(words, withState(more)),
  };
}
