// SPDX-License-Identifier: MIT
//
// workflow: clients of /ws, and engines that play the agents of a test.
//
//   const client = await openWorkflow(cluster, { as: 'User_1', node: 1 });
//   client.request('s1', 'r1', { verb: 'RULE', messageBody: { raw_text: 'run Show patterns' } });
//   const frames = await client.until(isOver);
//   await withAgents(cluster, { 'model.verifyRequest': [no('which table?'), yes()] }, async (asked) => { … });
import assert from 'node:assert/strict';
import { withEngine } from './asking.mjs';
import { assertMembers, assertOk } from './harness.mjs';
import { openWatch } from './websocket.mjs';

export const decision = (word, reason, output, confidence = 0.9) => JSON.stringify({ decision: word, confidence, reason, ...(output && { output }) });
export const yes = (output, reason = 'It fits.') => decision('yes', reason, output);
export const no = (reason = 'It does not fit.') => decision('no', reason);

export const isOver = ({ nextAgent }) => nextAgent === null;
export const isStop = ({ hitl }) => hitl !== undefined;

let ids = 0;
export const newId = (word) => `${word}-${process.pid}-${++ids}`;

// Frames are no responses that /openapi.yaml describes: each one that a test gets is what the deployed chat reads.
const MEMBERS = ['type', 'version', 'timestamp', 'session_id', 'request_id', 'verb', 'agent', 'nextAgent', 'returnCode', 'decision', 'confidence', 'reason', 'seq', 'messageBody'];
const HITL = ['id', 'deadline', 'form', 'approvals', 'quorum', 'self', 'approvers'];

function assertFrame(frame, type) {
  assert.equal(frame.type, type, frame.reason);
  assertMembers(frame, frame.hitl === undefined ? MEMBERS : [...MEMBERS, 'hitl']);
  if (frame.hitl) assertMembers(frame.hitl, HITL);
  assert.deepEqual([frame.version, typeof frame.timestamp, typeof frame.reason, typeof frame.messageBody], ['1.1', 'number', 'string', 'object']);
  assert.ok(['yes', 'no'].includes(frame.decision) && frame.confidence >= 0 && frame.confidence <= 1 && frame.reason !== '', JSON.stringify(frame));
  assert.equal(frame.nextAgent === 'sendMessageToChat', frame.hitl !== undefined, 'whoever is asked is told how');
}

class Client {
  constructor(watch) {
    this.watch = watch;
  }

  send(message) {
    this.watch.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  request(session_id, request_id, members) {
    this.send({ type: 'request', version: '1.1', timestamp: Date.now(), session_id, request_id, ...members });
  }

  answer(session_id, request_id, hitl_response) {
    this.send({ type: 'response', session_id, request_id, hitl_response });
  }

  resume(session_id, request_id, since) {
    this.send({ type: 'resume', session_id, request_id, since });
  }

  next(ms) {
    return this.watch.next(ms);
  }

  // All frames up to and with the first that matches; an error envelope fails.
  async until(match, ms = 60_000) {
    const frames = [];
    for (;;) {
      const frame = await this.watch.next(ms);
      assertFrame(frame, 'response');
      frames.push(frame);
      if (match(frame)) return frames;
    }
  }

  async error() {
    const frame = await this.watch.next();
    assertFrame(frame, 'error');
    assert.deepEqual([frame.agent, frame.nextAgent, frame.returnCode, frame.seq, frame.messageBody], ['parley', null, -1, 0, {}]);
    return frame;
  }

  close() {
    return this.watch.close();
  }
}

export async function openWorkflow(cluster, { as = 'User_1', node = 0, query = {}, token } = {}) {
  const given = token ?? (as === null ? {} : { token: assertOk(await cluster.request('GET', '/api/login', { as })).Token });
  return new Client(await openWatch(`${(node.url ?? cluster.nodes[node].url)}/ws?${new URLSearchParams({ ...given, ...query })}`));
}

// What an agent was asked: {agent, verb, body, request, corrections, complaint}.
export function readPrompt({ user }) {
  const line = (word) => new RegExp(`^${word}: (.*)$`, 'm').exec(user)?.[1];
  const body = line('Body');
  return { agent: line('Agent'), verb: line('Verb'), verbs: line('Verbs'), tables: line('Tables'), body: body && JSON.parse(body), request: line('Request'), corrections: [...user.matchAll(/^Objection: (.*)\nCorrection: (.*)$/gm)].map(([, objection, correction]) => ({ objection, correction })), complaint: line('Your last reply was refused') };
}

// `script`: agent → its replies, in order, the last one for good; a function of what was asked; undefined never answers.
export async function withAgents(cluster, script, body, options) {
  const asked = [];
  const reply = (prompt) => {
    const question = { ...readPrompt(prompt), prompt };
    asked.push(question);
    const replies = script[question.agent] ?? yes();
    if (typeof replies === 'function') return replies(question, asked);
    if (!Array.isArray(replies)) return replies;
    return replies.length > 1 ? replies.shift() : replies[0];
  };
  await withEngine(cluster, reply, async (engine) => body(asked, engine), options);
}
