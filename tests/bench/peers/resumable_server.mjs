// SPDX-License-Identifier: MIT
//
// resumable_server: one of the two processes of resumable-stream (resumable_stream.mjs starts them), as its README has them.
//
//   node resumable_server.mjs publisher|viewer redis|ioredis     with REDIS_URL, started by fork()
//
// The publisher reads an engine's answer over HTTP and makes a resumable stream of it; the viewer resumes it for each client that
// asks, and sends it on as server-sent events. Messages of its parent: `bare` {streams, rate, perPiece} leaves HTTP out (the
// publisher writes the answers itself, and the viewer only counts what it reads), `count` asks for the characters so far, `end`
// ends the publisher's own answers.
import { createServer } from 'node:http';
import { asEvent, eventReader, pace } from './streams.mjs';

const [, , role, client] = process.argv;
const { createResumableStreamContext } = await import(client === 'ioredis' ? 'resumable-stream/ioredis' : 'resumable-stream');
const context = createResumableStreamContext({ waitUntil: null });
let counted = 0;

// Nobody reads it in this process: those who do resume it in the other one.
async function publish(id, makeStream) {
  const stream = await context.createNewResumableStream(id, makeStream);
  await stream.cancel();
}

async function serve(request, response) {
  const url = new URL(request.url, 'http://localhost');
  const id = url.pathname.slice(1);
  if (role === 'publisher') {
    const answer = await fetch(url.searchParams.get('engine'));
    await publish(id, () => answer.body.pipeThrough(new TextDecoderStream()));
    response.end();
    return;
  }
  const stream = await context.resumeExistingStream(id);
  response.writeHead(stream ? 200 : 422, { 'content-type': 'text/event-stream' });
  response.flushHeaders();
  if (stream) for await (const text of stream) response.write(text);
  response.end();
}

// --- without HTTP

let endAll = () => {};

async function publishBare(options) {
  const controllers = [];
  for (let k = 0; k < options.streams; k++) await publish(`s${k}`, () => new ReadableStream({ start: (controller) => (controllers[k] = controller) }));
  const stop = pace(options, (k, text) => {
    counted += text.length;
    controllers[k].enqueue(asEvent(text));
  });
  endAll = () => {
    stop();
    for (const controller of controllers) controller.close();
  };
}

async function viewBare({ streams, viewers }) {
  for (let k = 0; k < streams * viewers; k++) {
    const stream = await context.resumeExistingStream(`s${k % streams}`);
    const read = eventReader((text) => (counted += text.length));
    (async () => {
      for await (const text of stream) read(text);
    })();
  }
}

process.on('message', async ({ kind, options }) => {
  if (kind === 'bare') await (role === 'publisher' ? publishBare(options) : viewBare(options));
  if (kind === 'end') endAll();
  process.send({ kind, counted });
});
process.on('disconnect', () => process.exit(0));

const server = createServer((request, response) => serve(request, response).catch((error) => response.destroy(error)));
server.listen(0, '127.0.0.1', () => process.send({ kind: 'ready', port: server.address().port }));
