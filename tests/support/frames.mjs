// SPDX-License-Identifier: MIT
//
// frames: a client of HTTP/2 that sends and reads frames itself: what Node's own client would not send, and
// what it would not show.
import { eventually } from './harness.mjs';
import { connectTo } from './tls.mjs';

export const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7, window: 8, continuation: 9 };
export const END_STREAM = 1;
const END_HEADERS = 4;
const PADDED = 8;

export function frame(type, flags, stream, payload = Buffer.alloc(0)) {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header.writeUInt8(type, 3);
  header.writeUInt8(flags, 4);
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

// A header field as a literal, without indexing (RFC 7541, 6.2.2).
function field(name, value) {
  const text = (s) => {
    const bytes = Buffer.from(s);
    const length = bytes.length < 127 ? [bytes.length] : [127, ((bytes.length - 127) % 128) | 128, Math.floor((bytes.length - 127) / 128)];
    return Buffer.concat([Buffer.from(length), bytes]);
  };
  return Buffer.concat([Buffer.from([0]), text(name), text(value)]);
}

// The head of a POST whose body follows.
export function head(stream, path, fields = {}) {
  const all = { ':method': 'POST', ':scheme': 'http', ':path': path, ':authority': 'x', ...fields };
  return frame(FRAME.headers, END_HEADERS, stream, Buffer.concat(Object.entries(all).map(([k, v]) => field(k, String(v)))));
}

// A whole request without a body.
export function get(stream, path, fields = {}) {
  const opened = head(stream, path, { ':method': 'GET', ...fields });
  return frame(FRAME.headers, END_HEADERS | END_STREAM, stream, opened.subarray(9));
}

// `bytes` of a body, which stays open.
export function body(stream, bytes, size = 16384) {
  const frames = [];
  for (let at = 0; at < bytes; at += size) frames.push(frame(FRAME.data, 0, stream, Buffer.alloc(Math.min(size, bytes - at), 'a')));
  return Buffer.concat(frames);
}

// The same, in frames of 16 KiB with as much padding as there can be.
export function paddedBody(stream, bytes) {
  const frames = [], padding = Buffer.alloc(255), most = 16384 - 1 - padding.length;
  for (let at = 0; at < bytes; at += most)
    frames.push(frame(FRAME.data, PADDED, stream, Buffer.concat([Buffer.from([padding.length]), Buffer.alloc(Math.min(most, bytes - at), 'a'), padding])));
  return Buffer.concat(frames);
}

export const HELLO = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(FRAME.settings, 0, 0)]);

// `window`: what the server may send on each stream.
export function openFrames(url, { window } = {}) {
  const settings = Buffer.alloc(window === undefined ? 0 : 6);
  if (window !== undefined) {
    settings.writeUInt16BE(4, 0);
    settings.writeUInt32BE(window, 2);
  }
  const socket = connectTo(url, { alpn: ['h2'] });
  const client = { socket, frames: [], closed: false, write: (...parts) => socket.write(Buffer.concat(parts)) };
  let input = Buffer.alloc(0);
  socket.on('error', () => {});
  socket.on('close', () => (client.closed = true));
  socket.on('data', (data) => {
    input = Buffer.concat([input, data]);
    while (input.length >= 9 && input.length >= 9 + input.readUIntBE(0, 3)) {
      const end = 9 + input.readUIntBE(0, 3);
      client.frames.push({ type: input[3], flags: input[4], stream: input.readUInt32BE(5) & 0x7fffffff, payload: input.subarray(9, end) });
      input = input.subarray(end);
    }
  });
  client.of = (stream, type) => client.frames.filter((f) => f.stream === stream && f.type === type);
  client.text = (stream) => Buffer.concat(client.of(stream, FRAME.data).map((f) => f.payload)).toString();
  client.isEnded = (stream) => client.of(stream, FRAME.data).some((f) => (f.flags & END_STREAM) !== 0);
  // Gives a stream up. Resolves when the server has read that.
  client.cancel = async (stream) => {
    const n = client.of(0, FRAME.ping).length;
    client.write(frame(FRAME.reset, 0, stream, Buffer.from([0, 0, 0, 8])), frame(FRAME.ping, 0, 0, Buffer.alloc(8)));
    await eventually(() => client.of(0, FRAME.ping).length > n, { what: 'the answer to a ping' });
  };
  client.isReset = (stream) => client.of(stream, FRAME.reset).length > 0;
  client.write(HELLO.subarray(0, 24), frame(FRAME.settings, 0, 0, settings));
  return client;
}
