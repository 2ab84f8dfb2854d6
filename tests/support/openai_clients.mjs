// SPDX-License-Identifier: MIT
//
// openai_clients: official clients of OpenAI's interface, each of which reads streams in a process beside the test
// (tests/clients/reader.mjs).
//
//   const clients = startClients(url, token);
//   clients.names                             the newer ones among them only with PARLEY_TEST_NODE_22 (tests/clients.sh)
//   await clients.read('openai6', body, onBegun)   what its user sees: {text, calls, finish, error, …}; onBegun() when it has a piece
//   await clients.stop();
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../clients/', import.meta.url));
const openai = (major) => [`openai${major}`, `openai${major} joined`];
const ai = (major) => [`ai${major}`, `ai${major} compatible`];
const USUAL = [...openai(5), ...openai(6), ...ai(5), ...ai(6)];
const NEWER = [...openai(7), ...ai(7), 'langchain'];

class Reader {
  #asked = new Map();
  #last = 0;
  stderr = '';

  constructor(node, url, token) {
    this.child = spawn(node, [`${FOLDER}reader.mjs`, `${url}/v1`, token], { stdio: ['pipe', 'pipe', 'pipe'] });
    this.child.stderr.on('data', (text) => (this.stderr += text));
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      const { id, begun, seen } = JSON.parse(line);
      if (begun) return this.#asked.get(id).onBegun();
      this.#asked.get(id).resolve(seen);
      return this.#asked.delete(id);
    });
    this.child.on('exit', () => {
      for (const { reject } of this.#asked.values()) reject(new Error(`the clients' process has ended: ${this.stderr.slice(-2000)}`));
    });
  }

  read(client, body, onBegun) {
    this.#last += 1;
    const id = this.#last;
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject, onBegun });
      this.child.stdin.write(`${JSON.stringify({ id, client, body })}\n`);
    });
  }

  async stop() {
    const ended = once(this.child, 'exit');
    this.child.stdin.end();
    const [status] = await ended;
    assert.equal(status, 0, this.stderr.slice(-2000));
  }
}

export function startClients(url, token) {
  const newer = process.env.PARLEY_TEST_NODE_22;
  const readers = [new Reader(process.execPath, url, token), ...(newer ? [new Reader(newer, url, token)] : [])];
  return {
    names: [...USUAL, ...(newer ? NEWER : [])],
    read: (client, body, onBegun = () => {}) => readers[USUAL.includes(client) ? 0 : 1].read(client, body, onBegun),
    stop: () => Promise.all(readers.map((reader) => reader.stop())),
  };
}
