// SPDX-License-Identifier: MIT
//
// llm_stub: a small server for tests that speaks OpenAI's protocol and embeds as Ollama does too, on a free port of
// 127.0.0.1.
//
//   const llm = await startLlm();
//   llm.behave({ text: 'Two words [1].', think: 'hm', stream: 'never' });
//   … parley engine --llm ${llm.url} --model stub …
//   llm.requests   // what came, in order: {path, body, headers, aborted}; GET /v1/models is in llm.listings
//   await llm.stop();
//
// How it answers chat completions, all optional:
//   text      what it says: a string, or a function of the request's body
//   think     goes to reasoning_content before the text; `tags: true` writes <think> into the text instead
//   stream    'yes' (default), 'never' (answers with one object although a stream was asked for),
//             'refuse' (400 for a stream), 'break' (hangs up in the middle)
//   pieceMs   pause between pieces (0)         pieces  characters of one piece (7)
//   hold      a promise: the first byte waits for it; `holdAt` (a number) puts that wait after that many pieces
//   status    fails with this status, `times` requests long (default: always); `retryAfter` is its Retry-After
//   models    names that GET /v1/models lists; undefined: there is no such route; `modelsStatus` fails it
//   key       the bearer token that it wants (401 for others)
import { once } from 'node:events';
import http from 'node:http';

const DIMENSION = 32;

// Letters counted into a few numbers: enough for "the same text is nearest to itself".
function embed(text) {
  const vector = new Array(DIMENSION).fill(0);
  for (const word of text.toLowerCase().match(/\p{L}+/gu) ?? ['']) {
    let sum = 7;
    for (const letter of word) sum = (sum * 31 + letter.codePointAt(0)) % 9973;
    vector[sum % DIMENSION] += 1;
  }
  return vector;
}

class LlmStub {
  constructor(server) {
    this.server = server;
    this.url = `http://127.0.0.1:${server.address().port}/v1`;
    this.requests = [];
    this.listings = [];
    this.behave({});
  }

  behave(how) {
    this.how = { text: 'Stub says hello.', think: '', tags: false, stream: 'yes', pieceMs: 0, pieces: 7, ...how };
    this.failuresLeft = how.times ?? Infinity;
  }

  async stop() {
    this.server.closeAllConnections?.();
    this.server.close();
    await once(this.server, 'close');
  }

  async handle(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks).toString() || 'null');
    const record = { path: request.url, headers: request.headers, body, aborted: false };
    (request.url === '/v1/models' ? this.listings : this.requests).push(record);
    response.on('close', () => {
      record.aborted = !response.writableFinished;
    });
    if (this.how.key && request.headers.authorization !== `Bearer ${this.how.key}`) return sendJson(response, 401, { error: { message: 'bad key' } });
    if (request.url === '/v1/models' && this.how.modelsStatus) return sendJson(response, this.how.modelsStatus, { error: { message: 'stub fails' } });
    if (request.url === '/v1/models' && this.how.models) {
      return sendJson(response, 200, { object: 'list', data: this.how.models.map((id) => ({ id, object: 'model', owned_by: 'stub' })) });
    }
    if (request.url === '/v1/embeddings') return this.answerEmbeddings(body, response);
    if (request.url === '/api/embed') return this.answerEmbed(body, response);
    if (request.url !== '/v1/chat/completions') return sendJson(response, 404, { error: { message: 'no such route' } });
    return this.answerChat(body, response);
  }

  answerEmbeddings({ input, model }, response) {
    const texts = Array.isArray(input) ? input : [input];
    const data = texts.map((text, index) => ({ object: 'embedding', index, embedding: embed(text) }));
    sendJson(response, 200, { object: 'list', model, data: data.reverse() });
  }

  // Ollama's. `embedStatus` fails that many requests (`embedTimes`) with this status.
  answerEmbed({ input, model }, response) {
    const { embedStatus, embedTimes = 0 } = this.how;
    if (this.requests.filter(({ path }) => path === '/api/embed').length <= embedTimes) {
      return sendJson(response, embedStatus, { error: `stub fails with ${embedStatus}` });
    }
    sendJson(response, 200, { model, embeddings: [input].flat().map(embed) });
  }

  async answerChat(body, response) {
    const { how } = this;
    if (how.status && this.failuresLeft > 0) {
      this.failuresLeft -= 1;
      const headers = how.retryAfter === undefined ? {} : { 'retry-after': String(how.retryAfter) };
      return sendJson(response, how.status, { error: { message: `stub fails with ${how.status}` } }, headers);
    }
    if (body.stream && how.stream === 'refuse') return sendJson(response, 400, { error: { message: 'stream is not supported' } });
    const said = typeof how.text === 'function' ? how.text(body) : how.text;
    const text = how.tags ? `<think>${how.think}</think>\n\n${said}` : said;
    const think = how.tags ? '' : how.think;
    if (how.hold && how.holdAt === undefined) await how.hold;
    if (!body.stream || how.stream === 'never') {
      const message = { role: 'assistant', content: text, ...(think && { reasoning_content: think }) };
      return sendJson(response, 200, { object: 'chat.completion', model: body.model, choices: [{ index: 0, message, finish_reason: 'stop' }] });
    }
    return this.stream(body, response, think, text);
  }

  async stream(body, response, think, text) {
    const { how } = this;
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    response.write(': ready\n\n');
    const send = (delta, finish = null) =>
      response.write(`data: ${JSON.stringify({ object: 'chat.completion.chunk', model: body.model, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
    const pieces = [...cut(think, how.pieces).map((piece) => ({ reasoning_content: piece })), ...cut(text, how.pieces).map((piece) => ({ content: piece }))];
    send({ role: 'assistant', content: '' });
    for (const [i, piece] of pieces.entries()) {
      if (response.destroyed) return;
      if (how.hold && how.holdAt === i) await how.hold;
      if (how.stream === 'break' && i >= pieces.length / 2) return hangUp(response);
      send(piece);
      if (how.pieceMs) await new Promise((resolve) => setTimeout(resolve, how.pieceMs));
    }
    send({}, 'stop');
    response.end('data: [DONE]\n\n');
  }
}

// Lets what was written leave first: the client sees the beginning and then the end of the connection.
async function hangUp(response) {
  await new Promise((resolve) => response.write('\n', resolve));
  setTimeout(() => response.destroy(), 50);
}

// By characters, so that no piece ends inside one.
function cut(text, n) {
  const letters = [...text];
  return Array.from({ length: Math.ceil(letters.length / n) }, (_, i) => letters.slice(i * n, (i + 1) * n).join(''));
}

function sendJson(response, status, value, headers = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(value));
}

export async function startLlm({ port = 0 } = {}) {
  let stub;
  const server = http.createServer((request, response) => {
    stub.handle(request, response).catch(() => response.destroy());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  stub = new LlmStub(server);
  return stub;
}
