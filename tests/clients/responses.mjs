// SPDX-License-Identifier: MIT
//
// responses: what a client of OpenAI's interface does with responses in the background, over several nodes. A process of its own:
// some clients need a later Node than the tests.
//
//   node responses.mjs openai7 KEY BASE...     commands on stdin, a line of JSON for each on stdout
//
//   create MODEL              {"id"} of a response in the background
//   follow ID RECONNECTS      {"numbers", "text"}: of all events, though it leaves every few of them and comes back elsewhere
//   resume ID AFTER           {"text"}, as responses.stream({response_id, starting_after}) ends
//   read ID                   {"status", "text"}
//   cancel ID                 {"status"}
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const [, , name, apiKey, ...bases] = process.argv;
const EVENTS = 3; // that it reads of a stream before it leaves
// The packages beside this file bring a later one of that name along.
const path = name === 'openai6' ? createRequire(new URL('../package.json', import.meta.url)).resolve('openai') : name;
const { default: OpenAI } = await import(path);
const clients = bases.map((baseURL) => new OpenAI({ baseURL, apiKey, maxRetries: 0 }));
const any = () => clients[Math.floor(Math.random() * clients.length)];

async function follow(id, reconnects) {
  const seen = [];
  for (let left = reconnects; seen.at(-1)?.type !== 'response.completed'; left -= 1) {
    const after = seen.length > 0 ? { starting_after: seen.at(-1).sequence_number } : {};
    const events = await any().responses.retrieve(id, { stream: true, ...after });
    let n = 0;
    for await (const event of events) {
      seen.push(event);
      n += 1;
      if (left > 0 && n === EVENTS) break;
    }
    events.controller.abort();
  }
  const text = seen.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta).join('');
  return { numbers: seen.map(({ sequence_number: number }) => number), text };
}

const COMMANDS = {
  create: async (model) => ({ id: (await any().responses.create({ model, input: 'Hi', background: true })).id }),
  follow: (id, reconnects) => follow(id, Number(reconnects)),
  resume: async (id, after) => ({ text: (await any().responses.stream({ response_id: id, starting_after: Number(after) }).finalResponse()).output_text }),
  read: async (id) => {
    const { status, output_text: text } = await any().responses.retrieve(id);
    return { status, text };
  },
  cancel: async (id) => ({ status: (await any().responses.cancel(id)).status }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const [command, ...words] = line.split(' ');
  console.log(JSON.stringify(await COMMANDS[command](...words).catch((error) => ({ error: error.message }))));
}
