// SPDX-License-Identifier: MIT
//
// door_node: a node that has nothing but requests of clients of a door for one engine, by the routes or over its socket, as
// docs/adr/0095 describes them. It checks each piece: deltas in order, whole, and at the right offset.
//
//   const node = await startDoorNode({ socket: true });
//   const job = node.ask({ api: 'chat', model: 'm', request: { messages: [...] } });
//   await job.until(({ deltas }) => deltas.length > 0, 'a delta');
//   job.cancel();       what the engine asks next is answered with Cancelled
//   job.forget(2);      as a node that died before it stored all but two deltas
//   await job.end;      {answer} of give-new-answer or {release} of release-claim; null: it is still claimed
//   node.polls          the queries of its polls, or of its upgrade
//   node.slots          what its `slots` frames said, in order
//   await node.stop();
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { WebSocketServer } from 'ws';
import { eventually } from './harness.mjs';

const EMPTY = { Topic: null, Queries: null };
const bytesOf = (texts) => texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);

class Job {
  deltas = [];
  claims = 0;
  extensions = 0;
  ended = null;
  isCancelled = false;

  constructor(number, { api, model, request, title = 'title', continued, offset = 0 }) {
    const text = typeof request === 'string' ? request : JSON.stringify(request);
    Object.assign(this, { number, offset, title });
    this.details = { User: 'u', Model: model, Modifiers: {}, Api: api, Request: text, ...(continued && { Continue: continued, Offset: offset }) };
  }

  get claim() {
    const Lease = `${this.number}${this.claims}`;
    return { Topic: `t${this.number}`, Queries: [{ 1: this.title }], Lease, LeaseSeconds: 150, Attempt: this.claims, Details: { 1: this.details }, History: [] };
  }

  // The deltas as JSON, and the texts of a choice.
  get chunks() {
    return this.deltas.map((delta) => JSON.parse(delta));
  }

  choices(index = 0) {
    return this.chunks.flatMap(({ choices = [] }) => choices.filter((choice) => choice.index === index));
  }

  text(index = 0) {
    return this.choices(index).map(({ delta, text }) => delta?.content ?? text ?? '').join('');
  }

  finish(index = 0) {
    const reasons = this.choices(index).map(({ finish_reason }) => finish_reason).filter((reason) => reason !== null);
    assert.equal(reasons.length, 1, `the ends of choice ${index}`);
    return reasons[0];
  }

  until(condition, what) {
    return eventually(() => condition(this), { what });
  }

  async over() {
    await eventually(() => this.ended !== null, { what: `the end of ${this.details.Request.slice(0, 100)}` });
    return this.ended;
  }

  cancel() {
    this.isCancelled = true;
  }

  forget(n) {
    this.deltas.length = n;
  }

  #refuse(code, more = {}) {
    return [409, { type: 'about:blank', title: 'x', status: 409, detail: code, code, instance: 'x', ...more }];
  }

  take(type, body) {
    const isCurrent = body.Lease === this.claim.Lease && this.ended === null;
    if (!isCurrent) return this.#refuse('lease_lost');
    if (type === 'extend') {
      this.extensions += 1;
      return [200, { LeaseSeconds: 150, Cancelled: this.isCancelled ? [1] : [] }];
    }
    if (type === 'release') {
      this.ended = { release: body };
      return [200, {}];
    }
    if (this.isCancelled) return type === 'partial' ? [200, { Next: 0, IntervalMs: 0, Cancelled: true }] : this.#refuse('cancelled');
    const gap = this.#store(body);
    if (gap) return gap;
    if (type === 'partial') return [200, { Next: this.offset + bytesOf(this.deltas), IntervalMs: 0, Cancelled: false }];
    this.ended = { answer: body };
    return [200, { Topic: body.Topic, Seq: 1, Status: 'Done', Timestamp: '2026-01-01T00:00:00' }];
  }

  #store({ Seq, Offset, Deltas }) {
    assert.equal(Seq, 1);
    assert.ok(Array.isArray(Deltas) && Deltas.every((delta) => typeof delta === 'string'), JSON.stringify(Deltas));
    const at = this.offset + bytesOf(this.deltas);
    if (Offset > at) return this.#refuse('partial_gap', { expected: at });
    const known = this.deltas.findIndex((_, i) => this.offset + bytesOf(this.deltas.slice(0, i)) === Offset);
    const first = Offset === at ? this.deltas.length : known;
    assert.ok(first >= 0, `the offset ${Offset} is between two deltas`);
    for (const [i, delta] of Deltas.entries()) {
      assert.equal(JSON.stringify(JSON.parse(delta)).length <= delta.length, true, 'each delta is JSON');
      if (first + i < this.deltas.length) assert.equal(delta, this.deltas[first + i], 'what comes again is the same');
      else this.deltas.push(delta);
    }
    return null;
  }
}

class DoorNode {
  polls = [];
  slots = [];
  rests = [];
  failures = [];
  #jobs = [];
  #waiting = []; // functions that take a claim
  #sockets = new Set();

  constructor(server, hasSocket) {
    Object.assign(this, { server, hasSocket, url: `http://127.0.0.1:${server.address().port}` });
    this.upgrades = new WebSocketServer({ noServer: true });
  }

  ask(options) {
    const job = new Job(this.#jobs.length + 1, options);
    this.#jobs.push(job);
    this.#hand();
    return job;
  }

  // A claim that was given back without using up an attempt is handed out again.
  again(job) {
    assert.ok(job.ended.release.Retry, JSON.stringify(job.ended));
    Object.assign(job, { ended: null, isHeld: false });
    this.#hand();
  }

  #hand() {
    for (const job of this.#jobs.filter(({ isHeld, ended }) => !isHeld && ended === null)) {
      const give = this.#waiting.shift();
      if (!give) return;
      job.isHeld = true;
      job.claims += 1;
      give(job.claim);
    }
  }

  #take(type, body) {
    try {
      return this.#jobs.find(({ number }) => body.Topic === `t${number}`).take(type, body);
    } catch (error) {
      this.failures.push(error);
      throw error;
    }
  }

  async handle(request, response) {
    const { pathname, searchParams } = new URL(request.url, this.url);
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = JSON.parse(Buffer.concat(parts).toString() || 'null');
    const reply = ([status, value]) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    const types = { '/api/give-partial': 'partial', '/api/give-new-answer': 'answer', '/api/extend-claim': 'extend', '/api/release-claim': 'release' };
    if (pathname === '/api/login') return reply([200, { User: 'Inference_1', Role: 'engine', Token: 't', ExpiresIn: 3600 }]);
    if (pathname === '/api/get-recommendations') return reply([200, { Recommendations: [], Next: null }]);
    if (pathname === '/api/get-new-queries') {
      if (searchParams.has('Rest')) this.rests.push(searchParams.get('Reason'));
      if (searchParams.has('Rest') || searchParams.has('Leave')) {
        for (const give of this.#waiting.splice(0)) give(EMPTY);
        return reply([200, EMPTY]);
      }
      this.polls.push(Object.fromEntries(searchParams));
      this.#waiting.push((claim) => reply([200, claim]));
      return this.#hand();
    }
    return types[pathname] ? reply(this.#take(types[pathname], body)) : reply([404, { detail: 'no such route', code: 'no_route' }]);
  }

  upgrade(request, socket, head) {
    if (!this.hasSocket) return socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    this.polls.push(Object.fromEntries(new URL(request.url, this.url).searchParams));
    this.upgrades.handleUpgrade(request, socket, head, (client) => {
      const send = (frame) => client.readyState === client.OPEN && client.send(JSON.stringify(frame));
      let [slots, held] = [0, 0]; // held: claims that were sent, and polls that wait for one
      const cancelled = new Set(); // leases whose slot is free again
      const give = (claim) => (claim === EMPTY ? (held -= 1) : send({ Type: 'claim', Body: claim }));
      const fill = () => {
        for (; held < slots; held += 1) this.#waiting.push(give);
        this.#hand();
      };
      const free = () => {
        held -= 1;
        fill();
      };
      this.#sockets.add(client);
      client.on('message', (bytes) => {
        const frame = JSON.parse(bytes.toString());
        if (frame.Type === 'slots') {
          slots = frame.Slots;
          this.slots.push(slots);
          return fill();
        }
        if (frame.Type === 'rest') {
          this.rests.push(frame.Reason);
          return send({ Type: 'reply', To: 'rest', Id: frame.Id, Status: 200, Body: {} });
        }
        const [Status, Body] = this.#take(frame.Type, frame);
        const isStored = frame.Type === 'partial' && Status === 200;
        if (isStored) send({ Type: 'stored', Topic: frame.Topic, Seq: 1, Lease: frame.Lease, ...Body });
        else send({ Type: 'reply', To: frame.Type, Lease: frame.Lease, ...(frame.Id && { Id: frame.Id }), Status, Body });
        const isEnded = ['answer', 'release'].includes(frame.Type) && Status === 200;
        const isCancelled = Body.Cancelled === true || Body.Cancelled?.length > 0;
        if (isEnded || (isCancelled && !cancelled.has(frame.Lease))) free();
        if (isCancelled) cancelled.add(frame.Lease);
        return undefined;
      });
    });
    return undefined;
  }

  cut() {
    for (const socket of this.#sockets) socket.terminate();
  }

  async stop() {
    this.cut();
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
    if (this.failures.length > 0) throw this.failures[0];
  }
}

export async function startDoorNode({ socket = false } = {}) {
  let node;
  const server = http.createServer((request, response) => {
    node.handle(request, response).catch((error) => response.writeHead(500).end(String(error)));
  });
  server.on('upgrade', (request, stream, head) => node.upgrade(request, stream, head));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  node = new DoorNode(server, socket);
  return node;
}
