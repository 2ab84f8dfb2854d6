// SPDX-License-Identifier: MIT
//
// websocket: a WebSocket client that waits for messages.
//
//   const socket = await openWatch(url);          rejects with {status} when the upgrade is refused
//   await socket.next(ms)                         the next message, parsed
//   await socket.until(type, match, ms)           all up to and with the first of that type that matches
//   socket.send(text); await socket.close(); await socket.closed() -> code
//
// All messages are held to /openapi.yaml.
import WebSocket from 'ws';
import { messageCheck, noteResponse } from './openapi.mjs';

const MESSAGE_MS = 30_000;

class Watch {
  #messages = [];
  #wakers = new Set();

  constructor(socket, path) {
    const check = messageCheck(path);
    this.socket = socket;
    const wake = () => [...this.#wakers].forEach((waker) => waker());
    socket.on('message', (bytes) => {
      const message = JSON.parse(bytes.toString());
      check(message);
      this.#messages.push(message);
      wake();
    });
    socket.on('close', (code) => {
      this.code = code;
      wake();
    });
    socket.on('error', wake);
  }

  #wait(ready, ms, what) {
    return new Promise((resolve, reject) => {
      const look = () => {
        const value = ready();
        if (value !== undefined) finish(resolve, value);
        else if (this.code !== undefined) finish(reject, new Error(`${what}: the socket closed with ${this.code}`));
      };
      const finish = (settle, value) => {
        clearTimeout(timer);
        this.#wakers.delete(look);
        settle(value);
      };
      const timer = setTimeout(() => finish(reject, new Error(`${what}: nothing in ${ms} ms`)), ms);
      this.#wakers.add(look);
      look();
    });
  }

  next(ms = MESSAGE_MS) {
    return this.#wait(() => this.#messages.shift(), ms, 'a message');
  }

  async until(type, match = () => true, ms = MESSAGE_MS) {
    const seen = [];
    for (;;) {
      const message = await this.next(ms);
      if (message.type !== 'connected') seen.push(message);
      if (message.type === type && match(message)) return seen;
    }
  }

  send(text) {
    this.socket.send(text);
  }

  closed(ms = MESSAGE_MS) {
    return this.#wait(() => this.code, ms, 'the end');
  }

  close() {
    this.socket.close(1000);
    return this.closed();
  }
}

// options: of the client, `localAddress` for instance.
export function openWatch(url, options = {}) {
  return new Promise((resolve, reject) => {
    const { pathname, search } = new URL(url);
    const socket = new WebSocket(url.replace(/^http/, 'ws'), { perMessageDeflate: false, ...options });
    const watch = new Watch(socket, pathname);
    socket.on('unexpected-response', (request, response) => {
      request.destroy();
      noteResponse({ method: 'GET', path: pathname + search }, { status: response.statusCode, headers: response.headers });
      reject(Object.assign(new Error(`the upgrade was refused with ${response.statusCode}`), { status: response.statusCode }));
    });
    socket.on('upgrade', ({ statusCode, headers }) => noteResponse({ method: 'GET', path: pathname + search }, { status: statusCode, headers }));
    socket.on('open', () => resolve(watch));
    socket.on('error', reject);
  });
}
