// SPDX-License-Identifier: MIT
//
// approvals: questions of workflows that wait for people. A question is stored by the verbs that a node calls when a run stops
// (lua/workflow), with a workflows file of its own, so that a test says who may answer and until when.
//
//   const question = await openQuestion(cluster, { account, user, approvers: ['a.Anna'], quorum, form, body, deadlineMs })
//   question.id, question.status()          its id, and what Redis has of it: open, approved, ...
//   question.answers()                      the record of all answers
//   a(account), r(role), o(account, user)   names of approvers
import { createHash, randomBytes } from 'node:crypto';
import { verbWord } from './lua.mjs';
import { nameOf, prefixOf, SHARDS } from './shards.mjs';

export const AGENT = 'model.verifyRequest';
export const FILE = `WORKFLOWS:
  RULE:
    ${AGENT}: {yes: null, no: sendMessageToChat}
AGENTS:
  ${AGENT}: {kind: model, prompt: "Check the request.", timeout: 5.0}
`;

export const a = (account) => `a.${nameOf(account)}`;
export const r = (role, namespace) => (namespace ? `r.${namespace}~${role}` : `r.${role}`);
export const o = (account, user) => `o.${createHash('sha256').update(`${nameOf(account)}\0${nameOf(user)}`).digest('hex').slice(0, 32)}`;

const functionOf = async (redis) => {
  const libraries = await redis.cmd('FUNCTION', 'LIST');
  const fields = (flat) => Object.fromEntries(flat.flatMap((x, i) => (i % 2 ? [] : [[x, flat[i + 1]]])));
  const names = libraries.flatMap((library) => fields(library).functions.map((one) => fields(one).name));
  return names.find((name) => !name.endsWith('_freeing'));
};

// One verb of a session, as a node calls it.
async function call(redis, session, verb, ...args) {
  const words = [verbWord(verb, args), ...args.map(String)];
  const settings = `test 150000 2000 3 100000 ${SHARDS} 0`;
  const [reply] = await redis.cmd('FCALL', await functionOf(redis), 1, prefixOf(session), settings, 0, ...words);
  if (typeof reply !== 'string') throw new Error(`${verb}: ${reply?.message ?? reply}`);
  return reply;
}

export async function openQuestion(cluster, given = {}) {
  const q = {
    account: 'User_1', user: 'User_1', namespace: '', approvers: [a('User_1')], quorum: 1, isSelf: true, deadlineMs: '', form: null,
    body: { raw_text: 'run Show patterns' }, reason: 'The table is unknown.', file: FILE, ...given,
  };
  const session = randomBytes(16).toString('hex');
  const user = q.namespace ? `${q.namespace}~${nameOf(q.user)}` : nameOf(q.user);
  const version = createHash('sha256').update(q.file).digest('hex');
  const request = `request-${session.slice(0, 8)}`;
  const [word, run, fence] = (
    await call(cluster.redis, session, 'workflow_begin', session, nameOf(q.account), user, 'session', request, 'RULE', version, q.file, AGENT, JSON.stringify(q.body), '', '')
  ).split('\n');
  if (word !== 'begun') throw new Error(word);
  const text = JSON.stringify({ agent: AGENT, reason: q.reason, form: q.form, quorum: q.quorum, self: q.isSelf });
  const stored = await call(
    cluster.redis, session, 'workflow_step', session, run, fence, 1, 'waiting', '', AGENT, 1, JSON.stringify(q.body), '{"seq":1}', '{"agent":"a"}', text, q.quorum,
    q.isSelf ? 1 : 0, q.deadlineMs, ...q.approvers,
  );
  if (!stored.startsWith('ok')) throw new Error(stored);
  const key = (name) => prefixOf(session) + name;
  return {
    id: `${session}.${run}.1`,
    session,
    run,
    request,
    status: () => cluster.redis.cmd('HGET', key(`wfq:${session}.${run}.1`), 'status'),
    runStatus: () => cluster.redis.cmd('HGET', key(`wfr:${session}.${run}`), 'status'),
    answers: async () => (await cluster.redis.cmd('LRANGE', key(`wfa:${session}.${run}`), 0, -1)).map((one) => JSON.parse(one)),
    delete: () => call(cluster.redis, session, 'workflow_delete', 0, user),
  };
}
