// SPDX-License-Identifier: MIT
//
// door_model: a model server whose responses a test writes.
//
//   const model = await startModel(async (seen, response, n) => response.events([chunk({ content: 'Hi' }), ...]));
//   model.seen     what came: {path, body, text, isGone}, without GET /models
//   await model.stop();
//
// `response` is Node's, with: events(objects, {done, end}), each one an event, then [DONE]; json(value, status).
import { once } from 'node:events';
import http from 'node:http';

export const chunk = (delta, finish_reason = null, more = {}) => ({ id: 'x', object: 'chat.completion.chunk', model: 'odd', choices: [{ index: 0, delta, finish_reason, ...more }] });

export async function startModel(answer, { models = ['m'] } = {}) {
  const seen = [];
  const server = http.createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const text = Buffer.concat(parts).toString();
    Object.assign(response, {
      json(value, status = 200, headers = {}) {
        response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
      },
      event(value) {
        if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
        return response.write(`data: ${JSON.stringify(value)}\n\n`);
      },
      events(values, { done = true, end = true } = {}) {
        for (const value of values) response.event(value);
        if (done) response.write('data: [DONE]\n\n');
        if (end) response.end();
      },
    });
    response.on('error', () => {});
    if (request.url === '/v1/models') return models ? response.json({ object: 'list', data: models.map((id) => ({ id, object: 'model' })) }) : response.json({}, 404);
    const one = { path: request.url, text, body: JSON.parse(text), headers: request.headers, isGone: false };
    response.on('close', () => (one.isGone = !response.writableFinished));
    seen.push(one);
    return answer(one, response, seen.length);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { url: `http://127.0.0.1:${server.address().port}/v1`, seen, stop };
}
