// SPDX-License-Identifier: MIT
//
// door_model: a model server whose responses a test writes.
//
//   const model = await startModel(async (seen, response, n) => response.events([chunk({ content: 'Hi' }), ...]));
//   model.seen     what came: {path, body, text, isGone}, without GET /models
//   await model.stop();
//
// `response` is Node's, with: events(objects, {done, end}), each one an event, then [DONE]; named(objects, {end}), each one an event
// whose name is its type, as Anthropic has them; json(value, status).
import { sendJson, startScripted } from './scripted_server.mjs';

export const chunk = (delta, finish_reason = null, more = {}) => ({ id: 'x', object: 'chat.completion.chunk', model: 'odd', choices: [{ index: 0, delta, finish_reason, ...more }] });

// What a test may do with a response.
function extend(response) {
  response.on('error', () => {});
  return Object.assign(response, {
    json(value, status = 200, headers = {}) {
      for (const [name, of] of Object.entries(headers)) response.setHeader(name, of);
      sendJson(response, value, status);
    },
    event(value) {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
      return response.write(`data: ${JSON.stringify(value)}\n\n`);
    },
    named(values, { end = true } = {}) {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const value of values) response.write(`event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`);
      if (end) response.end();
    },
    events(values, { done = true, end = true } = {}) {
      for (const value of values) response.event(value);
      if (done) response.write('data: [DONE]\n\n');
      if (end) response.end();
    },
  });
}

export async function startModel(answer, { models = ['m'] } = {}) {
  const seen = [];
  const { url, stop } = await startScripted((request, plain) => {
    const response = extend(plain);
    if (request.url === '/v1/models') return models ? response.json({ object: 'list', data: models.map((id) => ({ id, object: 'model' })) }) : response.json({}, 404);
    const one = { path: request.url, text: request.body, body: JSON.parse(request.body), headers: request.headers, isGone: false };
    response.on('close', () => (one.isGone = !response.writableFinished));
    seen.push(one);
    return answer(one, response, seen.length);
  });
  return { url: `${url}/v1`, seen, stop };
}
