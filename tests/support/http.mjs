// SPDX-License-Identifier: MIT
//
// http: what the tests speak to a node: one request over node:http with any method, a body on any
// method and a deadline that is a failure; a server-sent event reader; a bare socket for bytes that
// no HTTP library would send. Connections are fresh unless an agent is given. All answers but those on a bare
// socket are held to /openapi.yaml.
import { createHash, randomBytes } from 'node:crypto';
import { assertResponse, eventCheck, noteResponse } from './openapi.mjs';
import { connectTo, requestTo } from './tls.mjs';

export const REQUEST_MS = 60_000;

// A nonce that nobody used before.
export function newNonce() {
  return randomBytes(12).toString('hex');
}

// The three parameters of a signature. algo is 'sha256' or 'sha1'.
export function sign(user, secret, { algo = 'sha256', nonce = newNonce(), newline = false } = {}) {
  const text = `${user} ${nonce} ${secret}${newline ? '\n' : ''}`;
  return { User: user, Nonce: nonce, Hash: createHash(algo).update(text).digest('hex') };
}

// Appends parameters to a path. Undefined values are left out; an array value repeats its name.
export function withQuery(path, query = {}) {
  const pairs = [];
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined) pairs.push(`${encodeURIComponent(name)}=${encodeURIComponent(one)}`);
    }
  }
  if (!pairs.length) return path;
  return path + (path.includes('?') ? '&' : '?') + pairs.join('&');
}

function makeResponse(incoming, body) {
  const text = body.toString('utf8');
  const response = {
    status: incoming.statusCode,
    headers: incoming.headers,
    rawHeaders: incoming.rawHeaders,
    body,
    text,
    json: undefined,
  };
  if (incoming.req.method !== 'HEAD' && /^application\/(problem\+)?json\b/.test(incoming.headers['content-type'] ?? '')) {
    response.json = JSON.parse(text);
  }
  return response;
}

// Sends one request. `body`: an object becomes JSON, a string or Buffer goes as it is.
// Returns at once: {response: Promise, sent: Promise (the request is written), abort()}.
export function openRequest(base, method, path, options = {}) {
  const { headers = {}, body, agent = false, localAddress, timeout = REQUEST_MS, chunked = false, socketPath } = options;
  const url = new URL(base);
  const bytes =
    body === undefined
      ? undefined
      : Buffer.isBuffer(body)
        ? body
        : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const all = { ...headers };
  const has = (name) => Object.keys(all).some((key) => key.toLowerCase() === name);
  if (bytes && !has('content-type')) all['Content-Type'] = 'application/json';
  if (bytes && !chunked && !has('content-length')) all['Content-Length'] = bytes.length;
  let request;
  let onSent;
  const sent = new Promise((resolve) => (onSent = resolve));
  const response = new Promise((resolve, reject) => {
    const where = `${method} ${path.split('?')[0]} on ${socketPath ?? url.host}`;
    request = requestTo(url, { host: url.hostname, port: url.port, socketPath, method, path, headers: all, agent, localAddress });
    const timer = setTimeout(() => {
      reject(new Error(`${where}: no answer in ${timeout} ms`));
      request.destroy();
    }, timeout);
    const fail = (error) => {
      clearTimeout(timer);
      reject(new Error(`${where}: ${error.message}`, { cause: error }));
    };
    request.on('error', fail);
    request.on('finish', () => onSent());
    request.on('response', (incoming) => {
      const chunks = [];
      incoming.on('data', (chunk) => chunks.push(chunk));
      incoming.on('error', fail);
      incoming.on('aborted', () => fail(new Error('the answer was cut')));
      incoming.on('end', () => {
        clearTimeout(timer);
        try {
          const answer = makeResponse(incoming, Buffer.concat(chunks));
          const asked = { method, path, headers: all, body: bytes };
          assertResponse(asked, answer);
          if (/^text\/event-stream\b/.test(incoming.headers['content-type'])) eventsOf(answer.text).forEach(eventCheck(asked, answer));
          resolve(answer);
        } catch (error) {
          fail(error);
        }
      });
    });
    request.end(bytes);
  });
  // A caller that aborts does not look at the promise any more.
  response.catch(() => {});
  return { response, sent, abort: () => request.destroy() };
}

// Lets any number of callers wait for the same source: until(ready) looks again at each wake().
function newWaiter() {
  const sleepers = new Set();
  return {
    wake() {
      for (const sleeper of [...sleepers]) sleeper();
    },
    async until(ready, ms, complaint) {
      const deadline = Date.now() + ms;
      for (;;) {
        const found = ready();
        if (found !== undefined) return found;
        const left = deadline - Date.now();
        if (left <= 0) throw new Error(complaint());
        await new Promise((resolve) => {
          const finish = () => {
            clearTimeout(timer);
            sleepers.delete(finish);
            resolve();
          };
          const timer = setTimeout(finish, left);
          sleepers.add(finish);
        });
      }
    },
  };
}

// Splits what came so far into events. A block of comments alone is an event named ':'.
function parseEvent(block) {
  const event = { event: 'message', id: undefined, text: undefined, comment: undefined };
  for (const line of block.split('\n')) {
    if (line.startsWith(':')) {
      event.comment = line.slice(1).trim();
      continue;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') event.event = value;
    else if (field === 'id') event.id = value;
    else if (field === 'data') event.text = event.text === undefined ? value : `${event.text}\n${value}`;
  }
  if (event.text === undefined && event.comment !== undefined) event.event = ':';
  event.data = event.text === undefined ? undefined : JSON.parse(event.text);
  return event;
}

// The events of a whole stream.
function eventsOf(text) {
  return text.split('\n\n').filter((block) => block.trim()).map(parseEvent).filter(({ event }) => event !== ':');
}

// Opens a text/event-stream and resolves once the headers are there.
//
//   stream.status, stream.headers, stream.problem (the JSON body when the status is not 200)
//   await stream.next(ms)          the next event that is no comment; null once the stream ended
//   await stream.nextComment(ms)
//   await stream.until('done', ms) every event up to and with that one
//   stream.rest()                  the events that came and nobody took
//   await stream.ended(ms)         the server closed the stream
//   stream.abort()
export function openStream(base, path, { method = 'GET', body, headers = {}, timeout = REQUEST_MS, localAddress } = {}) {
  const url = new URL(base);
  return new Promise((resolve, reject) => {
    const request = requestTo(url, {
      host: url.hostname,
      port: url.port,
      method,
      path,
      agent: false,
      localAddress,
      headers: { Accept: 'text/event-stream', ...(body && { 'Content-Type': 'application/json' }), ...headers },
    });
    const timer = setTimeout(() => {
      reject(new Error(`stream ${path.split('?')[0]}: no answer in ${timeout} ms`));
      request.destroy();
    }, timeout);
    request.on('error', (error) => {
      clearTimeout(timer); // which would keep the process
      reject(error);
    });
    request.on('response', (incoming) => {
      clearTimeout(timer);
      resolve(readStream(request, incoming, { method, path }));
    });
    request.end(body && JSON.stringify(body));
  });
}

function readStream(request, incoming, asked) {
  const events = [];
  const comments = [];
  let raw = '';
  let taken = 0;
  let over = false;
  const waiter = newWaiter();
  const { statusCode: status, headers } = incoming;
  const checkEvent = status === 200 ? eventCheck(asked, { status, headers }) : undefined;
  incoming.setEncoding('utf8');
  incoming.on('data', (chunk) => {
    raw += chunk;
    for (let end = raw.indexOf('\n\n', taken); end >= 0; end = raw.indexOf('\n\n', taken)) {
      const block = raw.slice(taken, end);
      taken = end + 2;
      if (!block.trim()) continue;
      const event = status === 200 ? parseEvent(block) : { event: 'body', text: block };
      if (event.event !== ':') checkEvent?.(event);
      (event.event === ':' ? comments : events).push(event);
    }
    waiter.wake();
  });
  const finish = () => {
    over = true;
    waiter.wake();
  };
  incoming.on('end', () => {
    if (status !== 200) noteResponse(asked, { status, headers, text: raw });
    finish();
  });
  incoming.on('close', finish);
  incoming.on('error', finish);
  request.removeAllListeners('error');
  request.on('error', finish);

  const take = (ready, ms, what) => waiter.until(ready, ms, () => `stream: no ${what} in ${ms} ms; so far:\n${raw}`);

  const stream = {
    status: incoming.statusCode,
    headers: incoming.headers,
    get raw() {
      return raw;
    },
    next: (ms = REQUEST_MS) => take(() => events.shift() ?? (over ? null : undefined), ms, 'event'),
    nextComment: (ms = REQUEST_MS) => take(() => comments.shift() ?? (over ? null : undefined), ms, 'comment'),
    rest: () => events.splice(0),
    ended: (ms = REQUEST_MS) => take(() => (over ? true : undefined), ms, 'end of the stream'),
    async until(name, ms = REQUEST_MS) {
      const seen = [];
      for (;;) {
        const event = await stream.next(ms);
        if (event === null) throw new Error(`stream ended before "${name}":\n${raw}`);
        seen.push(event);
        if (event.event === name) return seen;
      }
    },
    async problem(ms = REQUEST_MS) {
      await stream.ended(ms);
      return JSON.parse(raw);
    },
    abort: () => request.destroy(),
  };
  return stream;
}

// Takes one response out of the bytes: {status, headers, body, next} or null while it is incomplete.
function parseRawResponse(buffer, at) {
  const end = buffer.indexOf('\r\n\r\n', at);
  if (end < 0) return null;
  const [line, ...fields] = buffer.toString('latin1', at, end).split('\r\n');
  const headers = Object.fromEntries(
    fields.map((field) => {
      const colon = field.indexOf(':');
      return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
    }),
  );
  let next = end + 4;
  let body = Buffer.alloc(0);
  if (/chunked/i.test(headers['transfer-encoding'] ?? '')) {
    for (;;) {
      const eol = buffer.indexOf('\r\n', next);
      if (eol < 0) return null;
      const size = parseInt(buffer.toString('latin1', next, eol), 16);
      if (buffer.length < eol + 2 + size + 2) return null;
      body = Buffer.concat([body, buffer.subarray(eol + 2, eol + 2 + size)]);
      next = eol + 2 + size + 2;
      if (size === 0) break;
    }
  } else {
    const length = Number(headers['content-length'] ?? 0);
    if (buffer.length < next + length) return null;
    body = buffer.subarray(next, next + length);
    next += length;
  }
  return { status: Number(line.split(' ')[1]), line, headers, text: body.toString('utf8'), next };
}

// A bare connection for bytes of any kind, pipelining, half requests and pulled plugs.
//
//   socket.write(bytes)
//   await socket.response(ms)   the next complete response
//   await socket.closed(ms)     the peer closed; resolves with the bytes nobody took
//   socket.pause(), socket.resume() stop and continue reading
//   socket.end() sends FIN, socket.reset() sends RST, socket.abort() closes
export function openSocket(base, { localAddress } = {}) {
  const url = new URL(base);
  return new Promise((resolve, reject) => {
    const socket = connectTo(url, { localAddress });
    let buffer = Buffer.alloc(0);
    let over = false;
    const waiter = newWaiter();
    const finish = () => {
      over = true;
      waiter.wake();
    };
    socket.on('data', (chunk) => {
      buffer = Buffer.concat([buffer, chunk]);
      waiter.wake();
    });
    socket.on('end', finish);
    socket.on('close', finish);
    socket.on('error', (error) => {
      reject(error);
      finish();
    });

    const take = (ready, ms, what) =>
      waiter.until(ready, ms, () => `socket: no ${what} in ${ms} ms; so far: ${buffer.toString('latin1')}`);

    socket.on('connect', () =>
      resolve({
        write: (bytes) => socket.write(bytes),
        response: (ms = REQUEST_MS) =>
          take(
            () => {
              const response = parseRawResponse(buffer, 0);
              if (response) buffer = buffer.subarray(response.next);
              else if (over) throw new Error(`the peer closed before a response; it sent: ${buffer.toString('latin1')}`);
              return response ?? undefined;
            },
            ms,
            'response',
          ),
        begun: (ms = REQUEST_MS) => take(() => buffer.length > 0 || undefined, ms, 'answer'),
        closed: (ms = REQUEST_MS) => take(() => (over ? { rest: buffer.toString('latin1') } : undefined), ms, 'close'),
        end: () => socket.end(),
        pause: () => socket.pause(),
        resume: () => socket.resume(),
        reset: () => socket.raw.resetAndDestroy(),
        abort: () => socket.destroy(),
      }),
    );
  });
}
