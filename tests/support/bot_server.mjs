// SPDX-License-Identifier: MIT
//
// bot_server: a server that plays bots, and rooms to talk to them.
//
//   const server = await startBots();
//   server.bots['/echo'] = ({ json }) => ({ message: json.message.text });      // an object is sent as JSON
//   const bot = await registerBot(cluster, 'echo', server.url('/echo'));        // {username, caller_key, signing_secret}
//   const room = await openRoom(cluster);
//   const asked = await room.say('@echo hi');
//   const reply = await room.replyTo(asked);
//
// What a bot returns: an object; {status, headers, body} with a text or a buffer; undefined never answers. It gets
// {path, headers, text, json, n}, n counts the calls of its path from 1.
import assert from 'node:assert/strict';
import http from 'node:http';
import { assertOk, eventually } from './harness.mjs';

let names = 0;
// A username that no other test has.
export const newBot = (word = 'bot') => `${word}-${process.pid}-${++names}`;

class Bots {
  calls = [];
  bots = {};

  constructor() {
    this.server = http.createServer((request, response) => this.#serve(request, response));
  }

  #serve(request, response) {
    const pieces = [];
    request.on('error', () => {});
    response.on('error', () => {});
    request.on('data', (piece) => pieces.push(piece));
    request.on('end', async () => {
      const text = Buffer.concat(pieces).toString();
      const path = request.url;
      const call = { path, method: request.method, headers: request.headers, text, json: JSON.parse(text), at: Date.now(), n: this.of(path).length + 1 };
      this.calls.push(call);
      const answer = await this.bots[path](call);
      if (answer === undefined) return;
      const { status = 200, headers = { 'content-type': 'application/json' }, body = JSON.stringify(answer) } = answer;
      response.writeHead(status, headers).end(body);
    });
  }

  of(path) {
    return this.calls.filter((call) => call.path === path);
  }

  url(path, host = 'localhost') {
    return `http://${host}:${this.server.address().port}${path}`;
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}

export async function startBots() {
  const bots = new Bots();
  await new Promise((resolve) => bots.server.listen(0, '127.0.0.1', resolve));
  return bots;
}

export async function registerBot(cluster, username, endpoint, { as = 'Frontend_1', user = 'owner', emulates = 'Ada L.', ...more } = {}) {
  const query = as.startsWith('Frontend') ? { OnBehalfOf: user } : {};
  return assertOk(await cluster.request('POST', '/api/bots', { as, query, body: { username, emulates, endpoint, ...more } }), 201);
}

export class Room {
  constructor(cluster, id, name, as = 'Frontend_1') {
    Object.assign(this, { cluster, id, name, as });
  }

  sayRaw(text, { as = this.as, user = 'eve', node, ...more } = {}) {
    const query = as.startsWith('User') ? {} : { OnBehalfOf: user };
    return this.cluster.request('POST', `/api/rooms/${this.id}/messages`, { as, query, node, body: { text, ...more } });
  }

  async say(text, options) {
    return assertOk(await this.sayRaw(text, options), 201);
  }

  async messages() {
    return assertOk(await this.cluster.request('GET', `/api/rooms/${this.id}/messages`, { as: this.as, query: { OnBehalfOf: 'eve', limit: 1000 } })).messages;
  }

  // The first message after `message` that matches.
  next(message, match, { ms = 90_000, what = 'the message' } = {}) {
    return eventually(
      async () => {
        const all = await this.messages();
        return all.slice(all.findIndex(({ id }) => id === message.id) + 1).find(match);
      },
      { ms, what },
    );
  }

  replyTo(message, options) {
    return this.next(message, ({ from, reply_to }) => reply_to === message.id && from !== 'annex', { what: `a reply to "${message.text.slice(0, 40)}"`, ...options });
  }

  // What the main bot says about that bot.
  noticeAbout(message, bot, options) {
    return this.next(message, ({ from, text }) => from === 'annex' && text.includes(bot), { what: `a notice about ${bot}`, ...options });
  }
}

export async function openRoom(cluster, name = 'a room') {
  const { id } = assertOk(await cluster.request('POST', '/api/rooms', { as: 'Frontend_1', query: { OnBehalfOf: 'eve' }, body: { name } }), 201);
  assert.match(id, /^[0-9a-f]{24}$/);
  return new Room(cluster, id, name);
}
