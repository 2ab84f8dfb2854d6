// SPDX-License-Identifier: MIT
//
// rooms: clients of rooms, over HTTP and on sockets.
//
//   const room = await newRoom(cluster, { as: 'User_1' });
//   const message = await say(cluster, room, 'Hello, @coach', { as: 'User_1', reply_to: id });
//   const socket = await openRoom(cluster, room, { as: 'User_2', node: 1, after: message.id });
//   await socket.next();
import assert from 'node:assert/strict';
import { assertOk } from './harness.mjs';
import { openWatch } from './websocket.mjs';

// For an account that acts for others.
const queryOf = (user) => (user === undefined ? {} : { OnBehalfOf: user });

export async function newRoom(cluster, { as = 'User_1', user, name = 'Tea kitchen', ...more } = {}) {
  const room = assertOk(await cluster.request('POST', '/api/rooms', { as, query: queryOf(user), body: { name }, ...more }), 201);
  assert.match(room.id, /^[0-9a-f]{24}$/);
  assert.equal(room.name, name);
  return room.id;
}

export function sayRaw(cluster, room, text, { as = 'User_1', user, reply_to, tagged, body, query = {}, ...more } = {}) {
  return cluster.request('POST', `/api/rooms/${room}/messages`, { as, query: { ...queryOf(user), ...query }, body: body ?? { text, reply_to, tagged }, ...more });
}

export async function say(cluster, room, text, options) {
  const message = assertOk(await sayRaw(cluster, room, text, options), 201);
  assert.equal(message.text, text);
  return message;
}

export function messagesRaw(cluster, room, { as = 'User_1', user, after, limit, ...more } = {}) {
  return cluster.request('GET', `/api/rooms/${room}/messages`, { as, query: { ...queryOf(user), after, limit }, ...more });
}

export async function messages(cluster, room, options) {
  return assertOk(await messagesRaw(cluster, room, options)).messages;
}

const tokens = new WeakMap();

async function tokenOf(cluster, as) {
  const known = tokens.get(cluster) ?? new Map();
  tokens.set(cluster, known);
  if (!known.has(as)) known.set(as, assertOk(await cluster.request('GET', '/api/login', { as })).Token);
  return known.get(as);
}

export async function roomUrl(cluster, room, { as = 'User_1', user, node, after } = {}) {
  const query = new URLSearchParams({ token: await tokenOf(cluster, as), ...queryOf(user), ...(after !== undefined && { after }) });
  return `${cluster.pick(node).url}/ws/rooms/${room}?${query}`;
}

export async function openRoom(cluster, room, options) {
  return openWatch(await roomUrl(cluster, room, options));
}
