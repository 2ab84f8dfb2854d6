// SPDX-License-Identifier: MIT
//
// odd_server: a model server that misbehaves in a way that each request names: a question or a text contains
// "case: NAME", and NAME is a row of a table.
//
//   const odd = await startOdd({ chat: (name, body, n) => exchange, embed: (name, body, n) => exchange });
//   … --llm ${odd.url} …
//   odd.count('NAME')    // how many requests named it
//   await odd.stop();
//
// `n` counts the requests of that case from 1. An exchange is what is sent: {status, type, headers, body, pieceMs, end}. `body`
// is a text, a buffer, an object (sent as JSON) or a list of texts and buffers, each of which is a piece of its own. `end`:
// 'end' (default), 'reset' (the connection breaks) or 'open' (nothing more comes, and the connection stays).
import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const PIECE_MS = 5; // between pieces, so that they arrive apart

const asPieces = (body) => [body].flat().map((piece) => (typeof piece === 'string' || Buffer.isBuffer(piece) ? piece : JSON.stringify(piece)));

async function send(response, { status = 200, type = 'text/event-stream', headers = {}, body = '', pieceMs = PIECE_MS, end = 'end' }) {
  response.writeHead(status, { ...(type && { 'content-type': type }), ...headers });
  response.flushHeaders();
  for (const piece of asPieces(body)) {
    response.write(piece);
    await sleep(pieceMs);
  }
  if (end === 'end') response.end();
  if (end === 'reset') response.destroy();
}

class OddServer {
  #counts = new Map();

  constructor(server, answers) {
    this.server = server;
    this.answers = answers;
    this.url = `http://127.0.0.1:${server.address().port}/v1`;
  }

  count(name) {
    return this.#counts.get(name) ?? 0;
  }

  async handle(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const kind = { '/v1/chat/completions': 'chat', '/v1/embeddings': 'embed', '/api/embed': 'embed' }[request.url];
    if (!kind) return send(response, { status: 404, type: 'application/json', body: { error: { message: 'no such route' } } });
    const body = JSON.parse(Buffer.concat(chunks).toString());
    const [, name] = /case: ([^\n.]+)/.exec(kind === 'chat' ? body.messages.at(-1).content : [body.input].flat().join('\n')) ?? [];
    const n = this.count(name) + 1;
    this.#counts.set(name, n);
    return send(response, this.answers[kind](name, body, n));
  }

  async stop() {
    this.server.closeAllConnections?.();
    this.server.close();
    await once(this.server, 'close');
  }
}

export async function startOdd(answers) {
  let odd;
  const server = http.createServer((request, response) => {
    response.on('error', () => {});
    odd.handle(request, response).catch((error) => {
      console.error(error);
      response.destroy();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  odd = new OddServer(server, answers);
  return odd;
}
