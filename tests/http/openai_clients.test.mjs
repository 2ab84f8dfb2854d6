// SPDX-License-Identifier: MIT
//
// Streams as model servers send them, through `parley engine` and a node, read by official clients: what the user of each sees.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { chunk } from '../support/door_model.mjs';
import { suite } from '../support/harness.mjs';
import { assertChunks, openChat, tokenOf } from '../support/openai.mjs';
import { startClients } from '../support/openai_clients.mjs';
import { startServed } from '../support/openai_served.mjs';

const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
const COUNTS = [7, 3, 10];
const USAGE = { choices: [], usage };
const tool = (name) => ({ type: 'function', function: { name, parameters: { type: 'object', properties: {} } } });
const TOOLS = [tool('read'), tool('now')];
const call = (index, more) => chunk({ tool_calls: [{ index, ...more }] });
const begin = (index, name, text = '') => call(index, { id: `call_${index}`, type: 'function', function: { name, arguments: text } });
const more = (index, text) => call(index, { function: { arguments: text } });
const of = (index, delta, finish_reason = null) => ({ choices: [{ index, delta, finish_reason }] });
const token = (text) => ({ content: [{ token: text, logprob: -0.5, bytes: null, top_logprobs: [] }], refusal: null });
const HELLO = [chunk({ role: 'assistant', content: '' }), chunk({ content: 'Forty-' }), chunk({ content: 'two' })];
const END = [chunk({}, 'stop'), USAGE];
const WHOLE = [...HELLO, ...END];
const LONG = 'é🦜x '.repeat(40_000);
const LOST = 'The engine was lost in the middle of its answer: send the request again.';

const said = { text: 'Forty-two', finish: 'stop' };
const called = (...calls) => ({ calls: calls.map(([name, text]) => ['call_', name, text]), finish: 'tool_calls' });
const none = undefined;
const lost = {
  all: { text: 'Forty-two', error: ['engine_lost', LOST] },
  joined: { text: none },
  ai: { finish: 'error' },
  'ai7 official': { error: [500, 'engine_lost', LOST] },
};

// A row: what the model server sends (events, or a function of the response and of the client's first piece), more of the
// request, and what is seen: by all, and where it differs by a family, a kind or a client.
const ROWS = {
  'plain text': { sends: WHOLE, seen: { all: said } },
  'nothing but an end': { sends: END, seen: { all: { finish: 'stop' } } },
  'a tool call in pieces': {
    body: { tools: TOOLS },
    sends: [begin(0, 'read'), more(0, '{"pa'), more(0, 'th":"ä"}'), chunk({}, 'tool_calls'), USAGE],
    seen: { all: called(['read', '{"path":"ä"}']) },
  },
  'tool calls side by side': {
    body: { tools: TOOLS },
    sends: [begin(0, 'read', '{"a'), begin(1, 'read', '{"b'), more(0, '":1}'), more(1, '":2}'), chunk({}, 'tool_calls'), USAGE],
    seen: { all: called(['read', '{"a":1}'], ['read', '{"b":2}']) },
  },
  'a tool call without arguments, and the wrong reason': { body: { tools: TOOLS }, sends: [begin(0, 'now'), ...END], seen: { all: called(['now', '{}']) } },
  'text, then a tool call without an id': {
    body: { tools: TOOLS },
    sends: [chunk({ content: 'Hm.' }), chunk({ tool_calls: [{ function: { name: 'now', arguments: '{}' } }] }), ...END],
    seen: { all: { text: 'Hm.', ...called(['now', '{}']) } },
  },
  'a refusal': {
    sends: [chunk({ refusal: 'I will ' }), chunk({ refusal: 'not.' }), ...END],
    seen: {
      all: { refusal: 'I will not.', finish: 'stop' },
      ai: { refusal: none, text: 'I will not.', finish: 'content-filter' },
      ai5: { text: none, finish: 'stop' },
      langchain: { refusal: none },
    },
  },
  logprobs: {
    body: { logprobs: true },
    sends: [chunk({ content: 'Forty' }, null, { logprobs: token('Forty') }), chunk({ content: '-two' }, null, { logprobs: token('-two') }), ...END],
    seen: {
      all: { ...said, logprobs: [['Forty', -0.5], ['-two', -0.5]] },
      ai: { logprobs: none },
      langchain: { logprobs: none },
      joined: { logprobs: [['Forty', -0.5], ['Forty', -0.5], ['-two', -0.5]] }, // its own fault: it adds the first ones twice
      'openai7 joined': { logprobs: [['Forty', -0.5], ['-two', -0.5]] },
    },
  },
  'two choices': {
    body: { n: 2 },
    sends: [of(0, { content: 'One' }), of(1, { content: 'Uno' }), of(1, {}, 'stop'), of(0, { content: '.' }), of(0, {}, 'stop'), USAGE],
    // `ai` and LangChain know one choice.
    seen: { all: { text: 'One.', others: ['Uno'], finish: 'stop' }, ai: { text: 'OneUno.', others: none }, langchain: { text: 'OneUno.', others: none, finish: 'stopstop' } },
  },
  'counts of tokens that are asked for': { body: { stream_options: { include_usage: true } }, sends: WHOLE, seen: { all: { ...said, usage: COUNTS } } },
  'counts of tokens that the server does not send': {
    body: { stream_options: { include_usage: true } },
    sends: WHOLE.slice(0, -1),
    isEstimated: true,
    seen: { all: { ...said, usage: 'estimated' } },
  },
  ...Object.fromEntries(['reasoning_content', 'reasoning'].map((name) => [name, {
    sends: [chunk({ [name]: 'Hm' }), chunk({ [name]: 'm.' }), ...WHOLE],
    // Where a client joins pieces, the last one of a member that it does not know counts.
    seen: { all: { ...said, reasoning: 'Hmm.' }, joined: { reasoning: 'm.' }, official: { reasoning: none } },
  }])),
  'the end of the context': { sends: [...HELLO, chunk({}, 'length'), USAGE], seen: { all: { ...said, finish: 'length' } } },
  'the end of the context within a tool call': {
    body: { tools: TOOLS },
    sends: [begin(0, 'read', '{"a'), chunk({}, 'length'), USAGE],
    seen: { all: { ...called(['read', '{"a']), finish: 'length' }, ai: { calls: [['call_', 'read', '"{\\"a"']] }, langchain: { calls: [['call_', 'read', '{}']] } },
  },
  'a filter': { sends: [...HELLO, chunk({}, 'content_filter'), USAGE], seen: { all: { ...said, finish: 'content_filter' } } },
  'a reason of its own': { sends: [...HELLO, chunk({}, 'eos_token'), USAGE], seen: { all: said } },
  'a refusal of the request': {
    sends: (response) => response.json({ error: { message: 'Too long.', type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' } }, 400),
    seen: { all: { error: [400, 'context_length_exceeded', 'Too long.'] } },
  },
  'an unknown model': {
    body: { model: 'nobody' },
    seen: { all: { error: [404, 'model_not_found', "No engine has named the model 'nobody' for this route within the last hour: GET /v1/models lists those that one has."] } },
  },
  'an error in the middle': {
    sends: async (response, begun) => {
      response.events(HELLO, { done: false, end: false });
      await begun;
      response.events([{ error: { message: 'It broke.', type: 'server_error', code: 500 } }]);
    },
    seen: lost,
  },
  'a server that is lost in the middle': {
    sends: async (response, begun) => {
      response.events(HELLO, { done: false, end: false });
      await begun;
      response.destroy();
    },
    seen: lost,
  },
  'a long silence': { sends: (response) => void setTimeout(() => response.events(WHOLE), 1500), seen: { all: said } },
  'characters that are cut': {
    sends: (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const content of ['a\\ud83e', '\\udd9cß'])
        for (const byte of Buffer.from(`data: {"choices":[{"index":0,"delta":{"content":"${content}"}}]}\n\n`)) response.write(Buffer.from([byte]));
      response.events(END);
    },
    seen: { all: { text: 'a🦜ß', finish: 'stop' } },
  },
  'one very long piece': { sends: [chunk({ content: LONG }), ...END], seen: { all: { text: LONG, finish: 'stop' } } },
  'pings, and chunks without choices': {
    sends: (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': ping\n\nevent: ping\ndata: {"type":"ping"}\n\nid: 7\nretry: 10\ndata: {"choices":[]}\n\n');
      response.events(WHOLE);
    },
    seen: { all: said },
  },
  'JSON where a stream was asked for': {
    sends: (response) => response.json({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices: [{ index: 0, message: { role: 'assistant', content: 'Forty-two' }, finish_reason: 'stop' }], usage }),
    seen: { all: said },
  },
};

// The cell of a client. `ai` has words of its own for reasons, and with OpenAI's provider it asks for counts always.
function cellOf(seen, client) {
  const [name, kind = name.startsWith('ai') ? 'official' : 'pieces'] = client.split(' ');
  const family = name.replace(/\d$/, '');
  const cell = Object.assign({}, ...['all', family, kind, name, `${name} ${kind}`].map((key) => seen[key]));
  if (family === 'ai') cell.finish = cell.finish?.replace('_', '-');
  if (kind === 'official' && !cell.error) cell.usage ??= COUNTS;
  return Object.fromEntries(Object.entries(cell).filter(([, value]) => value !== none));
}

suite('streams and clients', {}, ({ test, cluster }) => {
  const begun = new Map(); // by the content of the question: {promise, resolve}
  let world;
  async function start() {
    const served = await startServed(cluster, ({ body }, response) => {
      const { content } = body.messages.at(-1);
      const { sends } = ROWS[content.split(' / ')[0]];
      return typeof sends === 'function' ? sends(response, begun.get(content).promise) : response.events(sends);
    }, ['--slots', 4]);
    return { served, clients: startClients(cluster.pick(1).url, await tokenOf(cluster, 'User_1')) };
  }
  after(async () => {
    await world?.clients.stop();
    await world?.served.stop();
  });

  // What goes to /v1 for a client, and how to say that its first piece is there.
  function asked(name, client) {
    const content = `${name} / ${client}`;
    const entry = {};
    entry.promise = new Promise((resolve) => (entry.resolve = resolve));
    begun.set(content, entry);
    return [{ model: 'm', messages: [{ role: 'user', content }], ...ROWS[name].body }, () => entry.resolve()];
  }

  // The stream itself, which is held to OpenAI's specification.
  async function readBare(name) {
    const [body, onBegun] = asked(name, 'none');
    const stream = await openChat(cluster, body);
    if (!ROWS[name].seen.all.error) return assertChunks(await stream.whole());
    await stream.head();
    if (stream.status === 200) await stream.until(({ chunks }) => chunks.length > 0);
    onBegun();
    await stream.whole();
    if (stream.status === 200) assert.deepEqual([Object.keys(stream.chunks.at(-1)), stream.events.at(-1)], [['error'], '[DONE]']);
    return stream;
  }

  for (const [name, { seen, isEstimated }] of Object.entries(ROWS))
    test(name, async () => {
      world ??= await start();
      const { clients } = world;
      const bare = readBare(name);
      const cells = await Promise.all(clients.names.map((client) => clients.read(client, ...asked(name, client))));
      await bare;
      if (isEstimated)
        for (const cell of cells) if (cell.usage?.every((n) => n > 0)) cell.usage = 'estimated';
      assert.deepEqual(
        Object.fromEntries(clients.names.map((client, i) => [client, cells[i]])),
        Object.fromEntries(clients.names.map((client) => [client, cellOf(seen, client)])),
      );
    }, { sweep: false });
});
