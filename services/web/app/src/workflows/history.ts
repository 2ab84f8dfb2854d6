// SPDX-License-Identifier: MIT
//
// history: runs that have been, and the questions that they had for people.
import { call, onBehalf } from '../session/session';
import type { Body, Schema } from './run';

export type RunStatus = 'running' | 'waiting' | 'approved' | 'done' | 'rejected' | 'expired' | 'failed';
export const statuses: RunStatus[] = ['running', 'waiting', 'approved', 'done', 'rejected', 'expired', 'failed'];

/** How a person, or the deadline, decided. */
export interface Answer {
  step: number;
  how: 'socket' | 'echo' | 'http' | 'link' | 'deadline';
  approved: boolean;
  timestamp: string;
  account: string | null;
  user: string | null;
  corrections: Body | null;
  before: Body | null;
  comment: string | null;
}

export interface RunRecord {
  request_id: string;
  session_id: string;
  timestamp: number;
  verb: string;
  steps: { agent: string; decision: 'yes' | 'no'; reason: string; ms: number }[];
  answers: Answer[];
  final_status: RunStatus;
}

export interface Question {
  id: string;
  request_id: string;
  session_id: string;
  verb: string;
  agent: string;
  reason: string;
  messageBody: Body;
  form: Schema | null;
  asked: string;
  deadline: string | null;
  approvals: number;
  quorum: number;
  status: 'open' | 'approved' | 'rejected' | 'expired' | 'closed';
  answered: string | null;
  link: string | null;
}

const PAGE = 50;

interface Page<T> {
  items: T[];
  /** '': there are no more. */
  next: string;
}

async function readPage<T>(path: string, member: string, query: Record<string, string>, after: string, signal?: AbortSignal): Promise<Page<T>> {
  const response = await call('GET', path, { query: { ...onBehalf(), ...query, limit: PAGE, ...(after && { after }) }, signal });
  const next = /[?&]after=([^&>]+)[^>]*>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1] ?? '';
  return { items: (await response.json())[member], next: decodeURIComponent(next) };
}

export const readRuns = (status: RunStatus | '', after = '') => readPage<RunRecord>('api/workflows/history', 'runs', status ? { status } : {}, after);

export const readQuestions = (status: 'open' | 'answered' | 'all', after = '') => readPage<Question>('api/workflows/questions', 'questions', { status }, after);

export async function readRecord(session: string, id: string, signal: AbortSignal): Promise<RunRecord | null> {
  const page = await readPage<RunRecord>('api/workflows/history', 'runs', { session_id: session, request_id: id }, '', signal);
  return page.items[0] ?? null;
}

/** null: it is none of the caller's questions. */
export async function readQuestion(id: string): Promise<Question | null> {
  for (let after = ''; ; ) {
    const { items, next } = await readQuestions('all', after);
    const found = items.find((one) => one.id === id);
    if (found || !next) return found ?? null;
    after = next;
  }
}
