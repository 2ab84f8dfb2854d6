// SPDX-License-Identifier: MIT
//
// model_server: a model server that answers each chat completion at once with the same few tokens. Started by fork(); its parent
// gets its port.
import http from 'node:http';

const MODEL = 'm';
const WORDS = ['Leases ', 'last ', '150 ', 'seconds.'];
const usage = { prompt_tokens: 12, completion_tokens: WORDS.length, total_tokens: 12 + WORDS.length };
const head = { id: 'chatcmpl-1', created: 1, model: MODEL };
const event = (more) => `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...more })}\n\n`;
const piece = (delta, finish_reason = null) => event({ choices: [{ index: 0, delta, finish_reason }] });

const WHOLE = JSON.stringify({
  ...head,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: WORDS.join(''), refusal: null }, logprobs: null, finish_reason: 'stop' }],
  usage,
});
const STREAM = [...WORDS.map((content, i) => piece(i === 0 ? { role: 'assistant', content } : { content })), piece({}, 'stop')].join('');
const USAGE = event({ choices: [], usage });

const server = http.createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (part) => (text += part));
  request.on('end', () => {
    const json = (value) => response.writeHead(200, { 'content-type': 'application/json' }).end(value);
    if (request.method === 'GET') return json(JSON.stringify({ object: 'list', data: [{ id: MODEL, object: 'model' }] }));
    const { stream, stream_options } = JSON.parse(text);
    if (!stream) return json(WHOLE);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    return response.end(`${STREAM}${stream_options?.include_usage ? USAGE : ''}data: [DONE]\n\n`);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send(server.address().port));
process.on('disconnect', () => process.exit());
