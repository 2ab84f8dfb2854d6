// SPDX-License-Identifier: MIT
//
// run: the run that is shown, by the envelopes of its socket. What the node has is the truth: after a reload or a lost connection the run
// is resumed from the last envelope on. A request is sent until the first envelope of its run has come; it begins one run.
import { signal, type Signal } from '@preact/signals';
import { rootPath } from '../api/request';
import { openSocket } from '../api/socket';
import { call, onBehalf, Problem } from '../session/session';
import type { Answer, RunRecord } from './history';
import { readRecord } from './history';

export type Body = Record<string, unknown>;
export type Schema = { [name: string]: unknown };

export interface Stop {
  id: string;
  deadline: string | null;
  form: Schema | null;
  approvals: number;
  quorum: number;
  self: boolean;
  approvers: string[];
}

export interface Step {
  type: 'response';
  timestamp: number;
  session_id: string;
  request_id: string;
  verb: string;
  agent: string;
  nextAgent: string | null;
  returnCode: number;
  decision: 'yes' | 'no';
  confidence: number;
  reason: string;
  seq: number;
  messageBody: Body;
  /** It waits for a person. */
  hitl?: Stop;
}

interface Refusal {
  type: 'error';
  reason: string;
}

export interface Request {
  verb: string;
  text: string;
}

export interface OpenRun {
  session: string;
  status: Signal<'loading' | 'running' | 'waiting' | 'ended' | 'missing' | 'failed'>;
  steps: Signal<Step[]>;
  /** What was asked, while no envelope has come. */
  request: Request | undefined;
  /** How people answered, and how it ended; as far as it has been read. */
  record: Signal<RunRecord | null>;
  answers: Signal<Answer[]>;
  refusal: Signal<string>;
  isAway: Signal<boolean>;
  /** Words of a person about the open question: a yes, a no, or what to change. */
  say: (text: string) => boolean;
  answer: (answer: { approved: boolean; corrections: Body | null; comment: string | null }) => Promise<void>;
  close: () => void;
}

const newId = () => crypto.getRandomValues(new Uint32Array(4)).reduce((text, n) => text + n.toString(16).padStart(8, '0'), '');
const keyOf = (session: string) => `parley.run ${rootPath} ${session}`;

function readRequest(session: string): Request | undefined {
  try {
    return JSON.parse(sessionStorage.getItem(keyOf(session)) ?? 'null') ?? undefined;
  } catch {
    return undefined;
  }
}

/** Returns the ids of a run that begins when it is opened. */
export function prepareRun(request: Request): { session: string; id: string } {
  const session = newId();
  sessionStorage.setItem(keyOf(session), JSON.stringify(request));
  return { session, id: session };
}

export function openRun(session: string, id: string): OpenRun {
  const status: OpenRun['status'] = signal('loading');
  const steps = signal<Step[]>([]);
  const record = signal<RunRecord | null>(null);
  const answers = signal<Answer[]>([]);
  const refusal = signal('');
  const request = readRequest(session);
  const life = new AbortController();

  async function readAnswers(): Promise<void> {
    const read = await readRecord(session, id, life.signal).catch(() => null);
    if (!read) return;
    record.value = read;
    answers.value = read.answers;
  }

  function onStep(step: Step): void {
    sessionStorage.removeItem(keyOf(session));
    if (step.seq <= (steps.value.at(-1)?.seq ?? 0)) return;
    const hasStopped = status.value === 'waiting';
    steps.value = [...steps.value, step];
    refusal.value = '';
    status.value = step.hitl ? 'waiting' : step.nextAgent === null ? 'ended' : 'running';
    if (status.value !== 'running' || hasStopped) void readAnswers();
  }

  function onRefusal({ reason }: Refusal): void {
    if (steps.value.length === 0 && !request) status.value = 'missing';
    else refusal.value = reason;
    if (steps.value.length === 0) status.value = 'missing';
  }

  const socket = openSocket({
    path: 'ws',
    query: onBehalf,
    probe: 'api/workflows/history',
    onOpen: () => {
      const ids = { session_id: session, request_id: id };
      const since = steps.value.at(-1)?.seq ?? 0;
      if (since === 0 && request && readRequest(session)) socket.send({ ...ids, type: 'request', version: '1.1', timestamp: Date.now(), verb: request.verb, messageBody: { raw_text: request.text } });
      else socket.send({ ...ids, type: 'resume', since });
    },
    onMessage: (frame) => {
      const one = frame as Step | Refusal;
      if (one.type === 'error') onRefusal(one);
      else onStep(one);
    },
    onRefused: () => void (status.value = 'failed'),
  });

  const stopNow = () => (status.value === 'waiting' ? steps.value.at(-1)?.hitl : undefined);

  async function answer(given: { approved: boolean; corrections: Body | null; comment: string | null }): Promise<void> {
    const stop = stopNow();
    if (!stop) throw new Problem(409, 'conflict', '', 0);
    await answerQuestion(stop.id, given);
    await readAnswers();
  }

  const say = (text: string) => {
    const last = steps.value.at(-1);
    return !!last && socket.send({ type: 'request', version: '1.1', timestamp: Date.now(), session_id: session, request_id: newId(), verb: last.verb, nextAgent: last.nextAgent, messageBody: { raw_text: text } });
  };
  const close = () => {
    life.abort();
    socket.close();
  };
  return { session, status, steps, request, record, answers, refusal, isAway: socket.isAway, say, answer, close };
}

export async function answerQuestion(id: string, given: { approved: boolean; corrections: Body | null; comment: string | null }): Promise<{ status: string; approvals?: number; quorum?: number }> {
  return (await call('POST', `api/workflows/questions/${id}`, { query: onBehalf(), body: given })).json();
}
