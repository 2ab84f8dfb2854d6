// SPDX-License-Identifier: MIT
//
// turn: one question and what became of it. Its state is a signal, so that text that comes draws this one turn and nothing else.
import { signal, type Signal } from '@preact/signals';

/** What the routes answer about a question, with Detail. */
export interface Row {
  Query: string;
  Seq: number;
  Answer: string[] | null;
  Think: string[] | null;
  Status?: 'Open' | 'Pending' | 'Done' | 'Failed' | 'Cancelled';
  Reason?: string;
  Model?: string;
  Timestamp?: string;
  FinishReason?: string;
}

/** Sending: the node does not have it yet. Unsent: the node does not want it. */
export type Status = 'Sending' | 'Unsent' | 'Open' | 'Pending' | 'Done' | 'Failed' | 'Cancelled';

export interface TurnState {
  status: Status;
  think: string;
  answer: string;
  /** Why it has failed, or was not sent. */
  reason: string;
  model: string;
  isCut: boolean;
  /** Of an Open one: how many come before it, and in how many seconds it may begin; null: unknown. */
  position: number | null;
  etaS: number | null;
  isAway: boolean;
  hasRestarted: boolean;
  /** The node cannot take it now: why, and when the next try is. */
  refusal: { detail: string; untilMs: number } | null;
}

export interface Turn {
  key: string;
  seq: Signal<number | null>;
  query: string;
  state: Signal<TurnState>;
}

const FRESH: TurnState = { status: 'Sending', think: '', answer: '', reason: '', model: '', isCut: false, position: null, etaS: null, isAway: false, hasRestarted: false, refusal: null };

export const newTurn = (key: string, query: string): Turn => ({ key, query, seq: signal(null), state: signal(FRESH) });

export function turnOf(row: Row): Turn {
  const turn = newTurn(`seq-${row.Seq}`, row.Query);
  turn.seq.value = row.Seq;
  update(turn, stateOf(row));
  return turn;
}

export function stateOf(row: Row): Partial<TurnState> {
  const facts = { status: row.Status ?? (row.Answer ? 'Done' : 'Open'), reason: row.Reason ?? '', model: row.Model ?? '', isCut: row.FinishReason === 'length', isAway: false } as const;
  return row.Answer || hasEnded(facts.status) ? { ...facts, answer: (row.Answer ?? []).join('\n'), think: (row.Think ?? []).join('\n') } : facts;
}

export const update = (turn: Turn, change: Partial<TurnState>) => void (turn.state.value = { ...turn.state.value, ...change });
export const hasEnded = (status: Status) => status === 'Done' || status === 'Failed' || status === 'Cancelled' || status === 'Unsent';
