// SPDX-License-Identifier: MIT
//
// lua_workflow: calls of the workflow verbs by named arguments, and the keys of runs and questions (docs/redis-keys.md).
import { list, zset } from './lua.mjs';

export const ALICE = 'a'.repeat(32); // sessions: of alice
export const BOB = 'b'.repeat(32);
export const LEASE_MS = 6_000; // lua/workflow/runs.lua
export const OPEN_MAX = 100, SESSION_MAX = 1000, NAMES_MAX = 100, STEPS_MAX = 200, RUN_BYTES = 16 << 20, LOG_BYTES = 1 << 20;
export const FILE = 'WORKFLOWS: {}';
export const OVER = ['done', 'rejected', 'expired', 'failed'];

export const begin = ({ session = ALICE, account = 'F', user = 'alice', sessionId = 's1', request = 'r1', verb = 'RULE', version = 'v1', file = FILE, agent = 'model.Capo', body = '{"n":0}', max = '', maxOfUser = '' } = {}) =>
  ['workflow_begin', session, account, user, sessionId, request, verb, version, file, agent, body, max, maxOfUser];

// What a step of number n stores, if nothing else is said.
export const frameOf = (n) => `{"seq":${n}}`;
export const recordOf = (n) => `{"agent":"a${n}"}`;

export const step = ({ session = ALICE, run, fence = 1, step: n = 1, status = 'running', verb = '', agent = OVER.includes(status) ? '' : 'model.next', attempt = 0, body = `{"n":${n}}`, frame = frameOf(n), record = recordOf(n), question = status === 'waiting' ? '{"q":1}' : '', quorum = status === 'waiting' ? 1 : '', isSelf = true, deadline = '', approvers = [] }) =>
  ['workflow_step', session, run, fence, n, status, verb, agent, attempt, body, frame, record, question, quorum, isSelf ? '1' : '', deadline, ...approvers];

export const answer = ({ session = ALICE, run, step: n = 1, account = 'F', user = account === 'F' ? 'alice' : account, who = `{"account":"${account}"}`, how = 'http', isApproved = true, corrections = '', before = '', comment = '', as = [`a.${account}`] }) =>
  ['workflow_answer', 0, session, run, n, account, user, who, how, isApproved ? '1' : '', corrections, before, comment, ...as];

// A deadline that ends a question.
export const pass = ({ session = ALICE, run, step: n = 1, isApproved = false }) => answer({ session, run, step: n, account: '', user: '', who: 'null', how: 'deadline', isApproved, as: [] });

export const answerOf = ({ step: n = 1, how = 'http', isApproved = true, ms, who = '{"account":"F"}', corrections = 'null', before = 'null', comment = 'null' } = {}) =>
  `{"step":${n},"how":"${how}","approved":${isApproved},"timestamp":${ms},"who":${who},"corrections":${corrections},"before":${before},"comment":${comment}}`;

// A run's own keys. `run`: its number. questions: {step: fields}. answers: as they are stored.
export function runKeys({ session = ALICE, run, account = 'F', user = 'alice', status = 'running', frames = [], records = [], answers = [], questions = {}, bytes, log, request = 'r1', ids = request, isCounted = false, ...more }) {
  const id = `${session}.${run}`;
  const steps = Object.keys(questions);
  const log_ = log ?? [...records, ...answers].join('').length;
  const keys = {
    [`wfr:${id}`]: {
      status, account, user, session_id: 's1', request_id: ids.split(' ').at(-1), ids, verb: 'RULE', version: 'v1', agent: 'model.Capo', attempt: 0,
      step: records.length, seq: frames.length, stepped: '', fence: 1, node: 'n1', question: steps.at(-1) ?? '', questions: steps.join(' '),
      body: OVER.includes(status) ? '{}' : '{"n":0}', created: run, updated: run,
      bytes: bytes ?? 7 + frames.join('').length + log_, log: log_, ...(isCounted ? { is_counted: 1 } : {}), ...more,
    },
  };
  if (frames.length) keys[`wff:${id}`] = list(...frames);
  if (records.length) keys[`wfs:${id}`] = list(...records);
  if (answers.length) keys[`wfa:${id}`] = list(...answers);
  for (const [n, fields] of Object.entries(questions)) {
    keys[`wfq:${id}.${n}`] = {
      status: 'open', agent: 'model.next', asked: run, deadline: '', quorum: 1, is_self_allowed: 1, approvals: 0, answers: 0,
      approvers: 'a.F', question: '{"q":1}', body: '{"n":1}', ...fields,
    };
  }
  return keys;
}

const add = (to, key, n = 1) => (to[key] = (to[key] ?? 0) + n);
const put = (to, key, member, score) => ((to[key] ??= {})[member] = score);
const isFixed = (value) => typeof value !== 'function';

// What follows from runs and questions: all other workflow keys but wfw:*, wf_files and queues of wf_due; of its rows what a question says,
// with `due` for runs that a node drives.
export function derived(keys, { due = () => true, text = FILE } = {}) {
  const sessions = {}, zsets = {}, open = {}, files = {}, asked = {};
  for (const [name, r] of Object.entries(keys)) {
    const [, session, run] = /^wfr:([^.]+)\.(\d+)$/.exec(name) ?? [];
    if (!session) continue;
    const id = `${session}.${run}`;
    const isOver = OVER.includes(r.status);
    const s = (sessions[`wf:${session}`] ??= { account: r.account, user: r.user, session_id: r.session_id, last: 0, runs: 0 });
    if (Number(run) > s.last) s.last = Number(run);
    s.runs++;
    for (const request of r.ids.split(' ')) s[`id:${request}`] = run;
    put(zsets, `wf_of:${r.user}`, id, Number(run));
    files[`wf_file:${r.version}`] ??= { text, runs: 0 };
    if (isOver) put(zsets, 'wf_done', id, r.updated);
    else {
      add(open, `${r.account} ${r.user}`);
      add(files[`wf_file:${r.version}`], 'runs');
    }
    for (const n of r.questions.split(' ').filter(Boolean)) {
      const q = keys[`wfq:${id}.${n}`];
      const isOpen = q.status === 'open';
      for (const who of q.approvers.split(' ').filter(Boolean)) put(zsets, `${isOpen ? 'wf_ask' : 'wf_asked'}:${who}`, `${id}.${n}`, isOpen ? q.asked : q.closed);
      if (isOpen) (asked[session] ??= []).push([q.asked, run]);
    }
    if (r.status === 'waiting') {
      const { deadline } = keys[`wfq:${id}.${r.question}`];
      if (!isFixed(deadline) || deadline !== '') put(zsets, `wf_due:${r.account}:${r.user}`, id, deadline);
      s.waiting ??= '';
    } else if (!isOver) put(zsets, `wf_due:${r.account}:${r.user}`, id, due);
  }
  for (const [session, runs] of Object.entries(asked)) sessions[`wf:${session}`].waiting = runs.sort((x, y) => y[0] - x[0]).map(([, run]) => run).join(' ');
  return { ...sessions, ...Object.fromEntries(Object.entries(zsets).map(([name, members]) => [name, zset(members)])), ...(Object.keys(open).length ? { wf_open: open } : {}), ...files };
}

// The whole keyspace of these runs.
export function keysOf(...runs) {
  const keys = Object.assign({}, ...runs.map(runKeys));
  const versions = Object.values(keys).map((r) => r.version).filter(Boolean);
  return { ...keys, ...derived(keys, { due: runs[0].due ?? 9e12 }), wf_files: zset(Object.fromEntries(versions.map((version) => [version, 1000]))) };
}

// Begins a run; its number and fence.
export async function began(shard, given = {}, options) {
  const [reply] = (await shard.turn([begin(given)], options)).replies;
  const [word, run, fence] = reply.split('\n');
  if (word !== 'begun') throw new Error(reply);
  return { session: given.session ?? ALICE, run, fence, step: 0 };
}

// One more step of it, by the node that holds the fence.
export async function stepped(shard, r, given = {}, options) {
  const { session, run, fence } = r;
  const [reply] = (await shard.turn([step({ session, run, fence, step: r.step + 1, ...given })], options)).replies;
  if (reply.startsWith('ok')) r.step++;
  return reply;
}
