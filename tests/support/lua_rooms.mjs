// SPDX-License-Identifier: MIT
//
// lua_rooms: calls of the verbs of rooms by named arguments, and the keys of rooms (docs/redis-keys.md).
import { set, zset } from './lua.mjs';

export const ROOM = 'a'.repeat(24), OTHER = 'b'.repeat(24);

// What a name looks like, as far as these tests go: its letters without case.
export const lookOf = (name) => name.replace(/[^~]*$/, (plain) => `look-${plain.toLowerCase()}`);

// The keys of names: {alice: 'u', bot: 'b'}, users as claimed for the account.
export function namesOf(kinds, { namespace = '%', account = 'F' } = {}) {
  const users = Object.keys(kinds).filter((name) => kinds[name] === 'u');
  return {
    room_names: Object.fromEntries(Object.entries(kinds).map(([name, kind]) => [name, kind === 'u' ? `u ${account} ${lookOf(name)}` : kind])),
    room_looks: Object.fromEntries(Object.entries(kinds).map(([name, kind]) => [lookOf(name), kind === 'u' ? 1 : `@${name}`])),
    ...(users.length ? { names_n: { [namespace]: users.length, [`${namespace} ${account}`]: users.length } } : {}),
  };
}

export const create = ({ room = ROOM, namespace = '%', name = 'Lobby', account = 'F', user = 'alice', most = 100, key = '' } = {}) =>
  ['room_create', 0, room, namespace, JSON.stringify(name), account, user, most, key];
export const remove = ({ room = ROOM, namespace = '%', account = 'F', user = 'alice', isOperator = false, hasBegun = false } = {}) =>
  ['room_delete', 0, room, namespace, account, user, isOperator ? '1' : '', hasBegun ? '1' : ''];

// mentions: [name, kind ('x': not looked up), must it exist] each.
export const post = ({ room = ROOM, namespace = '%', kind = 'user', name = 'alice', text = 'Hello', replyTo = '', account = 'F', whose = name, calls = true, isHere = true, claim = '', replyKind = 'x', leases = 10, max = '', maxOfUser = '', key = '', mentions = [] } = {}) => [
  'message_add', room, namespace, kind, name, lookOf(name), JSON.stringify(name.replace(/^.*~/, '')), JSON.stringify(text), replyTo, account, whose,
  calls ? '1' : '', isHere ? '1' : '', claim, replyKind, leases, max, maxOfUser, key,
  ...mentions.flatMap(([one, tagKind = 'x', must = false]) => [one, lookOf(one), JSON.stringify(one), must ? '1' : '', tagKind]),
];

export const list = ({ room = ROOM, namespace = '%', after = '', limit = 100 } = {}) => ['message_list', 0, room, namespace, after, limit];

// [{id, kind, from, text, tagged, replyTo, hop}] of a reply's lines.
export function messagesOf(reply, head = 2) {
  const rest = reply.split('\n').slice(head), found = [];
  for (let i = 0; i + 6 < rest.length; i += 7) {
    const [id, kind, from, text, tagged, replyTo, hop] = rest.slice(i, i + 7);
    found.push({ id, kind, from: JSON.parse(from), text: JSON.parse(text), tagged: JSON.parse(tagged), replyTo, hop: Number(hop) });
  }
  return found;
}

// What message_add answers: {id, tagged, deliveries: [{id, bot, fence}]}.
export function postedOf(reply) {
  const [word, id, tagged, n, ...rest] = reply.split('\n');
  if (word !== 'ok') throw new Error(reply);
  return { id, tagged: JSON.parse(tagged), deliveries: Array.from({ length: Number(n) }, (_, i) => ({ id: rest[5 * i], bot: rest[5 * i + 1], fence: rest[5 * i + 2] })) };
}

export const roomKeys = ({ room = ROOM, namespace = '%', name = 'Lobby', user = 'alice', created = 1000, n = 0, last = '', bytes = 0 } = {}) => ({
  [`room:${room}`]: { namespace, name: JSON.stringify(name), account: 'F', user, created, n, last, bytes },
  [`rooms:${namespace}`]: zset({ [room]: created }),
  [`rooms_of:${user}`]: zset({ [room]: created }),
  [`room_members:${room}`]: set(`u.${user}`),
  rooms_n: { F: 1 },
  ...(last === '' ? { rooms_empty: zset({ [room]: created }) } : {}),
});
