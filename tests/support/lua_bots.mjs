// SPDX-License-Identifier: MIT
//
// lua_bots: calls of the verbs of bots and their evaluations by named arguments, and their keys (docs/redis-keys.md).
import { list, zset } from './lua.mjs';
import { lookOf } from './lua_rooms.mjs';

export const NAMES = 'room_names';
export const NAMESPACE_MAX = 1000, REGISTRANT_MAX = 50, FAILURES = 5, REST_MS = 30_000, TRIAL_MS = 15_000, HOUR_MS = 3_600_000; // lua/bots/registry.lua
export const LEASE_MS = 15_000, OPEN_MAX = 10, KEPT_MAX = 1000, KEPT_MS = 30 * 86_400_000; // lua/bots/evaluations.lua

// --- the registry ------------------------------------------------------------------------------------

export const idOf = (n) => n.toString(16).padStart(16, '0');

export const register = ({ bot = 'echo', namespace = '%', id = idOf(1), username = bot, emulates = '', endpoint = 'https://bot.example/', format = 'annex', account = 'F', user = 'alice', role = 'frontend', key = '', isAsked = false } = {}) =>
  ['bot_register', 0, bot, lookOf(bot), isAsked ? '1' : '', namespace, id, JSON.stringify(username), emulates && JSON.stringify(emulates), endpoint, format, account, user, role, key];

export const botKeys = ({ bot = 'echo', namespace = '%', id = idOf(1), endpoint = 'https://bot.example/', account = 'F', user = 'alice', created = 1000, ...more } = {}) => ({
  [`bot:${bot}`]: {
    id, namespace, username: JSON.stringify(bot), emulates: '', endpoint, format: 'annex', account, user, role: 'frontend', look: lookOf(bot), generation: 1, rotated: created, created,
    failures: 0, open_until: '', trial_until: '', ...more,
  },
});

// What follows from these bots: all other keys of the registry.
export function derivedOfBots(keys, users = []) {
  const names = Object.fromEntries(users.map((user) => [user, `u F ${lookOf(user)}`])), looks = Object.fromEntries(users.map((user) => [lookOf(user), 1])), zsets = {}, counts = {};
  for (const [key, b] of Object.entries(keys)) {
    if (!key.startsWith('bot:')) continue;
    const bot = key.slice(4);
    names[bot] = b.endpoint === '' ? 'p' : 'b';
    looks[lookOf(bot)] = `@${bot}`;
    for (const name of [`bots:${b.namespace}`, `bots_of:${b.user}`]) (zsets[name] ??= {})[bot] = b.created;
    for (const whose of [`${b.account} ${b.user}`, b.account]) counts[whose] = (counts[whose] ?? 0) + 1;
  }
  return {
    ...(Object.keys(names).length ? { [NAMES]: names } : {}), ...(Object.keys(looks).length ? { room_looks: looks } : {}), ...(Object.keys(counts).length ? { bots_n: counts } : {}),
    ...Object.fromEntries(Object.entries(zsets).map(([name, members]) => [name, zset(members)])),
  };
}

// The whole keyspace of these bots.
export function registryOf(...bots) {
  const keys = Object.assign({}, ...bots.map(botKeys));
  return { ...keys, ...derivedOfBots(keys) };
}

// One bot of the 16 lines of a reply, without lines that come first.
export function botOf(lines) {
  const names = ['name', 'id', 'username', 'emulates', 'endpoint', 'format', 'account', 'user', 'role', 'generation', 'isFormerGood', 'rotated', 'created', 'failures', 'circuit', 'restMs'];
  return Object.fromEntries(names.map((name, i) => [name, lines[i]]));
}

// --- evaluations -------------------------------------------------------------------------------------

export const DIGITS = 'e'.repeat(24);

export const begin = ({ evaluation = DIGITS, namespace = '%', account = 'F', user = 'alice', bot = 'echo', measure = 'cosine', turns = 3, conversation = '[]', max = '', maxOfUser = '', key = '' } = {}) =>
  ['evaluation_begin', 0, evaluation, namespace, account, user, bot, JSON.stringify(bot), measure, turns, conversation, max, maxOfUser, key];

export const turnOf = ({ evaluation = DIGITS, run = 1, fence = 1, at = 0, result = `{"i":${at}}`, status = 'running', summary = `{"n":${at}}` } = {}) =>
  ['evaluation_turn', evaluation, run, fence, at, result, status, summary];

// The keys of a run. results: what is stored of its turns.
export function runKeys({ evaluation = DIGITS, run = 1, account = 'F', user = 'alice', status = 'running', results = [], conversation = '[]', created = 1000, isCounted = false, ...more } = {}) {
  const id = `${evaluation}-${run}`, isOver = status !== 'running';
  const bytes = results.join('').length;
  return {
    [`evaluation:${id}`]: {
      status, namespace: '%', account, user, bot: 'echo', username: '"echo"', measure: 'cosine', turns: 3, at: results.length, created, updated: created, summary: '',
      bytes: bytes + (isOver ? 0 : conversation.length), text_bytes: isOver ? 0 : conversation.length, fence: 1, node: 'n1', ...(isCounted ? { is_counted: 1 } : {}), ...more,
    },
    ...(isOver ? {} : { [`evaluation_text:${id}`]: conversation }),
    ...(results.length ? { [`evaluation_turns:${id}`]: list(...results) } : {}),
  };
}

// What follows from these runs. due: of each that runs.
export function derivedOfRuns(keys, due = 9e12) {
  const zsets = {}, open = {}, last = {};
  for (const [key, e] of Object.entries(keys)) {
    if (!key.startsWith('evaluation:')) continue;
    const id = key.slice(11), [evaluation, run] = id.split('-');
    (zsets[`evaluations_of:${e.user}`] ??= {})[id] = e.created;
    (zsets[e.status === 'running' ? `evaluation_due:${e.account}:${e.user}` : 'evaluations_done'] ??= {})[id] = e.status === 'running' ? due : e.updated;
    if (e.status === 'running') open[`${e.account} ${e.user}`] = (open[`${e.account} ${e.user}`] ?? 0) + 1;
    last[`evaluation_last:${evaluation}`] = String(Math.max(Number(run), Number(last[`evaluation_last:${evaluation}`] ?? 0)));
  }
  return { ...last, ...(Object.keys(open).length ? { evaluations_open: open } : {}), ...Object.fromEntries(Object.entries(zsets).map(([name, members]) => [name, zset(members)])) };
}

export function evaluationsOf(...runs) {
  const keys = Object.assign({}, ...runs.map(runKeys));
  return { ...keys, ...derivedOfRuns(keys) };
}

// A run of the 13 lines of a reply.
export function runOf(lines) {
  const names = ['id', 'status', 'namespace', 'account', 'user', 'bot', 'username', 'measure', 'turns', 'at', 'created', 'updated', 'summary'];
  return Object.fromEntries(names.map((name, i) => [name, lines[i]]));
}
