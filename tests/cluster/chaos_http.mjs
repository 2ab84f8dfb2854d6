// SPDX-License-Identifier: MIT
//
// chaos_http: the HTTP client of the clients and engines in chaos.test.mjs, each a process or a part of one that sends
// thousands of requests: connections are kept, and answers are not held to /openapi.yaml, which tests of the routes do.
import { createHash, randomBytes } from 'node:crypto';
import http from 'node:http';

const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });

function signed(path, query, { name, secret }) {
  const nonce = randomBytes(12).toString('hex');
  const Hash = createHash('sha256').update(`${name} ${nonce} ${secret}`).digest('hex');
  const pairs = Object.entries({ ...query, User: name, Nonce: nonce, Hash }).filter(([, value]) => value !== undefined);
  return `${path}?${new URLSearchParams(pairs)}`;
}

// One request, signed as that account ({name, secret}). Resolves with {status, json}; rejects when the connection fails or
// nothing comes for `ms`. onEvent(event, data, id) gets each server-sent event as it comes. `raw`: a body as it is.
export function send(base, method, path, { account, query = {}, body, raw, headers = {}, ms = 30_000, onEvent, signal } = {}) {
  const url = new URL(base);
  const bytes = raw ?? (body === undefined ? undefined : Buffer.from(JSON.stringify(body)));
  const all = { ...(body && { 'content-type': 'application/json' }), ...(onEvent && { accept: 'text/event-stream' }), ...(bytes && { 'content-length': bytes.length }), ...headers };
  return new Promise((resolve, reject) => {
    const request = http.request({ host: url.hostname, port: url.port, method, path: signed(path, query, account), headers: all, agent, signal });
    request.setTimeout(ms, () => request.destroy(new Error(`nothing came in ${ms} ms`)));
    request.on('error', reject);
    request.on('response', (incoming) => {
      let text = '';
      incoming.setEncoding('utf8');
      incoming.on('error', reject);
      incoming.on('aborted', () => reject(new Error('the answer was cut')));
      incoming.on('data', (chunk) => {
        text += chunk;
        if (onEvent && incoming.statusCode === 200) text = takeEvents(text, onEvent);
      });
      incoming.on('end', () => {
        const isJson = /json/.test(incoming.headers['content-type'] ?? '');
        try {
          resolve({ status: incoming.statusCode, json: isJson ? JSON.parse(text) : undefined, text });
        } catch (error) {
          reject(error);
        }
      });
    });
    request.end(bytes);
  });
}

// Calls onEvent for each whole event; returns what is left.
function takeEvents(text, onEvent) {
  const blocks = text.split('\n\n');
  for (const block of blocks.slice(0, -1)) {
    const fields = Object.fromEntries(block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trimStart()]));
    if (fields.data !== undefined) onEvent(fields.event ?? 'message', JSON.parse(fields.data), fields.id);
  }
  return blocks.at(-1);
}

// A balancer sends a GET again by itself, when the node that had it died: its nonce may be used up then.
export const meansTryAgain = ({ status, json }) => [429, 502, 503, 504].includes(status) || (status === 401 && json?.code === 'nonce_used');

// Sends to each of `urls` in turn until there is a final answer. isOver(): whether to give up now (then null).
// onRetry(why) is called after each attempt that failed.
export async function insist(urls, method, path, options, { isOver = () => false, onRetry = () => {}, turn = Math.floor(Math.random() * urls.length) } = {}) {
  for (let i = turn; ; i++) {
    let why;
    try {
      const response = await send(urls[i % urls.length], method, path, options);
      if (!meansTryAgain(response)) return response;
      why = `${response.status} ${response.text}`;
    } catch (error) {
      why = error.message; // the node is gone, or the connection was
    }
    onRetry(`${method} ${path}: ${why}`);
    if (isOver()) return null;
    await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 60));
  }
}
