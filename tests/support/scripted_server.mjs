// SPDX-License-Identifier: MIT
//
// scripted_server: a server that is no node, and answers as a test says.
//
//   const server = await startScripted((request, response) => response.writeHead(404).end());
//   … --url ${server.url} …
//   server.requests   // {method, url, headers, body} of each, in order
//   await server.stop();
import { once } from 'node:events';
import http from 'node:http';

export async function startScripted(answer) {
  const requests = [];
  const server = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const seen = { method: request.method, url: request.url, headers: request.headers, body: Buffer.concat(chunks).toString() };
    requests.push(seen);
    await answer(seen, response, requests.length);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { url: `http://127.0.0.1:${server.address().port}`, requests, stop };
}

// A problem, as nodes send it.
export function sendProblem(response, status, code, detail, headers = {}) {
  const problem = { type: 'about:blank', title: 'x', status, detail, code, instance: 'x' };
  response.writeHead(status, { 'Content-Type': 'application/problem+json', ...headers }).end(JSON.stringify(problem));
}

export function sendJson(response, value, status = 200) {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
}
