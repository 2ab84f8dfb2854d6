// SPDX-License-Identifier: MIT
//
// llama_server: llama.cpp with a model of a file, as a server of OpenAI's interface: GET /v1/models, POST /v1/chat/completions with
// `stream`. GET /evaluated: {running, tokens}, the requests under way and the tokens that they all have made.
//
//   node llama_server.mjs FILE TOKENS     the size of the context; prints its port
import http from 'node:http';
import { getLlama, LlamaLogLevel } from 'node-llama-cpp';

const SLOTS = 2;
const [file, contextSize] = [process.argv[2], Number(process.argv[3])];
const llama = await getLlama({ gpu: false, build: 'never', maxThreads: 1, logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath: file });
const context = await model.createContext({ contextSize, sequences: SLOTS, threads: 1 });
const evaluated = { running: 0, tokens: 0 };

function send(response, status, value) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

// Until the client has gone, `limit` tokens are made or the context is full. Returns the reason of its end.
async function generate(prompt, limit, response) {
  const sequence = context.getSequence();
  evaluated.running += 1;
  try {
    let n = 0;
    for await (const token of sequence.evaluate(prompt, { temperature: 0 })) {
      if (response.destroyed) return null;
      evaluated.tokens += 1;
      n += 1;
      const content = model.detokenize([token], false, n === 1 ? prompt : [token]);
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`);
      if (n === limit || prompt.length + n >= contextSize) return 'length';
    }
    return 'stop';
  } finally {
    evaluated.running -= 1;
    sequence.dispose();
  }
}

async function chat(body, response) {
  const prompt = model.tokenize(body.messages.map(({ role, content }) => `${role}: ${content}\n`).join(''));
  if (prompt.length >= contextSize) {
    const message = `This model has a context of ${contextSize} tokens, and the messages have ${prompt.length}.`;
    return send(response, 400, { error: { message, type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' } });
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const finish_reason = await generate(prompt, body.max_tokens, response);
  response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason }] })}\n\n`);
  return response.end('data: [DONE]\n\n');
}

const server = http.createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  if (request.url === '/v1/models') return send(response, 200, { object: 'list', data: [{ id: 'm', object: 'model' }] });
  if (request.url === '/evaluated') return send(response, 200, evaluated);
  return chat(JSON.parse(Buffer.concat(parts)), response);
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
