// SPDX-License-Identifier: MIT
//
// evaluations: how closely a bot answers as the person it emulates. The node does the work; this starts it and reads how far it is.
import { call, onBehalf, pages } from '../session/session';

export interface Turn {
  turn: number;
  text: string;
  original: string | null;
  answer: string | null;
  /** null: it failed. */
  distance: number | null;
  score: number | null;
  error: string | null;
}

export interface Evaluation {
  id: string;
  bot: string;
  measure: string;
  status: 'running' | 'done' | 'cancelled' | 'failed';
  reason: string | null;
  total: number;
  done: number;
  failed: number;
  mean: number | null;
  score: number | null;
  interval: [number, number] | null;
  created: string;
}

export interface Line {
  from: string;
  text: string;
}

export const FILE_MAX_BYTES = 4 << 20;
const LISTED_MAX = 100;
const PAGE = 1000;

export async function listEvaluations(): Promise<Evaluation[]> {
  return (await (await call('GET', 'api/evaluations', { query: { ...onBehalf(), limit: LISTED_MAX } })).json()).evaluations;
}

export async function readEvaluation(id: string, signal: AbortSignal): Promise<{ evaluation: Evaluation; turns: Turn[] }> {
  const turns: Turn[] = [];
  let evaluation: Evaluation | undefined;
  for await (const page of pages<Evaluation & { turns: Turn[] }>(`api/evaluations/${encodeURIComponent(id)}`, { ...onBehalf(), limit: PAGE }, signal)) {
    evaluation ??= page;
    turns.push(...page.turns);
  }
  return { evaluation: evaluation!, turns };
}

export async function beginEvaluation(bot: string, conversation: Line[]): Promise<string> {
  return (await (await call('POST', 'api/evaluations', { query: onBehalf(), body: { bot, conversation } })).json()).id;
}

export const cancelEvaluation = (id: string) => call('DELETE', `api/evaluations/${encodeURIComponent(id)}`, { query: onBehalf() });

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** A file of JSON lines as a conversation. Throws the number of the first line that is not a message. */
export function readConversation(file: string): Line[] {
  const lines = file.split('\n').map((line, i) => ({ line: line.trim(), number: i + 1 }));
  return lines.filter(({ line }) => line !== '').map(({ line, number }) => {
    try {
      const one = JSON.parse(line);
      if (isText(one.from) && isText(one.text)) return one as Line;
    } catch {
      // as any other line that is no message
    }
    throw new RangeError(String(number));
  });
}
