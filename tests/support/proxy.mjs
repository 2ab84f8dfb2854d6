// SPDX-License-Identifier: MIT
//
// proxy: sits between a process and Redis and stops at a chosen call, so that a process can be killed
// between two of its calls for certain:
//
//   const proxy = await startProxy(redis);
//   const held = proxy.holdAt('job_store', 'request');   // or 'reply': Redis has run it, nobody was notified
//   … a process with --redis proxy.url …
//   await held;                                          // its call is under way and stays so
//   await proxy.passed('outcome');                       // meanwhile that has come on another connection
//   proxy.release();                                     // what was replied continues now
//   await proxy.stop();
//
// Of a Redis Cluster it sits in front of each member, and members are announced at its ports.
import net from 'node:net';
import { once } from 'node:events';

const HOLD_MS = 60_000;
const CRLF = Buffer.from('\r\n');
const WORD_END = /^(?: \d{3}| \d{6})?\r\n/; // a verb is followed by its number of arguments
const WORD_END_BYTES = 9;

class Proxy {
  // servers: the proxy's own, one for each port.
  constructor(servers, ports, isCluster) {
    const own = servers.map((server) => server.address().port);
    this.servers = servers;
    this.url = isCluster ? `redis+cluster://${own.map((port) => `127.0.0.1:${port}`).join(',')}` : `redis://127.0.0.1:${own[0]}/0`;
    // In CLUSTER SLOTS, and in MOVED.
    this.announced = isCluster ? ports.flatMap((port, i) => ['\r\n:', ':'].map((between) => [port, own[i]].map((one) => Buffer.from(`127.0.0.1${between}${one}\r\n`)))) : [];
    this.sockets = new Set();
    servers.forEach((server, i) => server.on('connection', (client) => this.connect(client, ports[i])));
  }

  // Resolves once a call is held. `text`: a verb or another word of it, as a string or bytes; `nth`: which one. `of`: of that
  // member of a Redis Cluster alone.
  holdAt(text, side = 'request', nth = 1, of = undefined) {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`no call of ${text} in ${HOLD_MS} ms`)), HOLD_MS);
      const seen = () => {
        clearTimeout(late);
        resolve();
      };
      this.trap = { needle: Buffer.concat([CRLF, Buffer.from(text)]), side, left: nth, port: of?.port, resolve: seen };
    });
  }

  // Resolves once `text` has been passed on to the process, on whichever connection.
  passed(text) {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`no ${text} has come in ${HOLD_MS} ms`)), HOLD_MS);
      this.awaited = {
        text,
        resolve: () => {
          clearTimeout(late);
          resolve();
        },
      };
    });
  }

  connect(client, port) {
    const server = net.connect(port, '127.0.0.1');
    let isRequestHeld = false;
    let isReplyHeld = false;
    let tail = Buffer.alloc(0);
    for (const [socket, other] of [[client, server], [server, client]]) {
      this.sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.sockets.delete(socket);
        other.destroy();
      });
    }
    client.on('data', (chunk) => {
      const { trap } = this;
      if (trap && (trap.port ?? port) === port) {
        const seen = Buffer.concat([tail, chunk]);
        // What was in the tail alone was counted before.
        for (let at = seen.indexOf(trap.needle); at >= 0; at = seen.indexOf(trap.needle, at + 1)) {
          const from = at + trap.needle.length;
          const end = WORD_END.exec(seen.toString('latin1', from, from + WORD_END_BYTES));
          if (end && from + end[0].length > tail.length) trap.left -= 1;
        }
        tail = seen.subarray(Math.max(0, seen.length - trap.needle.length - WORD_END_BYTES + 1));
        if (trap.left <= 0) {
          this.trap = undefined;
          isRequestHeld = trap.side === 'request';
          isReplyHeld = true;
          const replies = [];
          this.keep = (reply) => replies.push(reply);
          this.release = () => {
            isReplyHeld = false;
            replies.splice(0).forEach((reply) => client.write(reply));
          };
          if (isRequestHeld) trap.resolve();
          else this.pending = trap;
        }
      }
      if (!isRequestHeld) server.write(chunk);
    });
    server.on('data', (bytes) => {
      const chunk = this.announce(bytes);
      if (isReplyHeld) {
        this.keep(chunk);
        this.pending?.resolve(); // Redis has run it
        return;
      }
      const { awaited } = this;
      const hasCome = awaited && chunk.includes(awaited.text);
      client.write(chunk, () => {
        if (hasCome) awaited.resolve();
      });
    });
  }

  // Ports have five digits, here and there.
  announce(chunk) {
    for (const [from, to] of this.announced) for (let at = chunk.indexOf(from); at >= 0; at = chunk.indexOf(from, at + from.length)) to.copy(chunk, at);
    return chunk;
  }

  async stop() {
    for (const socket of this.sockets) socket.destroy();
    for (const server of this.servers) {
      server.close();
      await once(server, 'close');
    }
  }
}

async function listen() {
  const server = net.createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref(); // a test that failed before stop() must not keep its process
  return server;
}

// In front of a Redis, or of all members of a Redis Cluster.
export async function startProxy(redis) {
  const isCluster = redis.masters !== undefined;
  const ports = (isCluster ? redis.members : [redis]).map(({ port }) => port);
  return new Proxy(await Promise.all(ports.map(listen)), ports, isCluster);
}
