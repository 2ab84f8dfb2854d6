// SPDX-License-Identifier: MIT
//
// asking: questions about one's documents. The node keeps no list of them, so this tab does. A question that has no answer yet when the
// page is loaded again is asked again.
import { signal, type Signal } from '@preact/signals';
import { readEvents, type ServerEvent } from '../api/events';
import { backoffMs, pause } from '../api/pause';
import { rootPath } from '../api/request';
import { take, Writer, type Position } from '../chat/follow';
import { newTopicId } from '../chat/topics';
import { hasEnded, newTurn, update, type Turn, type TurnState } from '../chat/turn';
import { call, onBehalf, Problem, session, Unreachable } from '../session/session';

export interface Citation {
  docId: string;
  chunkIndex: number;
  snippet: string;
  score: number;
  documentTitle: string;
  page: number | null;
}

/** What the agent did. */
export interface TraceEntry {
  type: 'plan' | 'tool_call' | 'final' | 'error';
  tool: string | null;
  input: unknown;
  outputSummary: string | null;
  steps: string[] | null;
  notes: string | null;
  error: string | null;
}

export interface Found {
  citations: Citation[];
  /** What was read, but answers nothing. */
  nearest: Citation[];
  trace: TraceEntry[];
}

export interface Exchange {
  turn: Turn;
  isAgent: boolean;
  found: Signal<Found>;
  life: AbortController;
}

interface Kept extends Found {
  question: string;
  isAgent: boolean;
  state: TurnState;
}

interface Answer {
  answer: string;
  citations: Citation[];
  nearest?: Citation[];
  trace?: TraceEntry[];
  model?: string | null;
  finish_reason?: string;
}

const KEPT_MAX = 30;
const NOTHING_FOUND: Found = { citations: [], nearest: [], trace: [] };
const keyOf = (user: string) => `parley.asked ${rootPath} ${user}`;

export const exchanges = signal<Exchange[]>([]);

const newExchange = (question: string, isAgent: boolean): Exchange => ({ turn: newTurn(newTopicId(), question), isAgent, found: signal(NOTHING_FOUND), life: new AbortController() });

// --- keeping ---

function keep(): void {
  const kept = exchanges.value.slice(-KEPT_MAX).map(({ turn, isAgent, found }): Kept => ({ question: turn.query, isAgent, state: turn.state.value, ...found.value }));
  try {
    sessionStorage.setItem(keyOf(session.value?.user ?? ''), JSON.stringify(kept));
  } catch {
    // There is no room for them: they last until the page is left.
  }
}

function restored({ question, isAgent, state, ...found }: Kept): Exchange {
  const of = newExchange(question, isAgent);
  of.found.value = found;
  if (hasEnded(state.status)) update(of.turn, state);
  else void follow(of);
  return of;
}

/** Shows what this tab has kept of a user, until what it returns is called. */
export function openExchanges(user: string): () => void {
  let kept: Kept[] = [];
  try {
    kept = JSON.parse(sessionStorage.getItem(keyOf(user)) ?? '[]');
  } catch {
    // Another version has written it.
  }
  exchanges.value = kept.map(restored);
  return () => exchanges.value.forEach(({ life }) => life.abort());
}

// --- asking ---

function onAnswer(of: Exchange, { answer, citations, nearest = [], trace, model, finish_reason }: Answer): void {
  of.found.value = { citations, nearest, trace: trace ?? of.found.value.trace };
  update(of.turn, { status: 'Done', answer, model: model ?? '', isCut: finish_reason === 'length', isAway: false });
}

/** Returns whether this was the last event. */
function onEvent(of: Exchange, event: ServerEvent, writer: Writer, position: Position): boolean {
  const data = event.data as Answer & { sources: Citation[]; detail: string };
  switch (event.name) {
    case 'sources':
      of.found.value = { ...of.found.value, citations: data.sources };
      return false;
    case 'trace':
      of.found.value = { ...of.found.value, trace: [...of.found.value.trace, event.data as TraceEntry] };
      update(of.turn, { status: 'Pending' });
      return false;
    case 'done':
    case 'complete':
      writer.stop();
      onAnswer(of, data);
      return true;
    case 'error':
      writer.stop();
      update(of.turn, { status: 'Failed', reason: data.detail });
      return true;
    default:
      return take(event, writer, position);
  }
}

async function readAnswer(of: Exchange, writer: Writer, position: Position): Promise<boolean> {
  const after: Record<string, string> = position.lastId ? { after: position.lastId } : {};
  const response = await call('POST', of.isAgent ? 'api/agent/stream' : 'api/rag/ask', {
    query: { ...onBehalf(), ...after },
    body: { question: of.turn.query },
    isStream: true,
    signal: of.life.signal,
  });
  update(of.turn, { status: 'Open', isAway: false, refusal: null });
  if (of.isAgent) of.found.value = NOTHING_FOUND;
  for await (const event of readEvents(response.body!)) if (onEvent(of, event, writer, position)) return true;
  return false;
}

/** How long to wait before the next try; null: there is none. */
function onFailure({ turn }: Exchange, error: unknown, failures: number): number | null {
  if (error instanceof Unreachable) {
    update(turn, { isAway: true });
    return backoffMs(failures);
  }
  if (!(error instanceof Problem)) throw error;
  if (error.status === 401) return null;
  if (error.isPassing) {
    const waitMs = Math.max(1, error.retryAfterS) * 1000;
    update(turn, { refusal: { detail: error.detail, untilMs: Date.now() + waitMs } });
    return waitMs;
  }
  update(turn, { status: 'Failed', reason: error.detail, refusal: null });
  return null;
}

/** Resolves when there is an answer, or there will be none. */
async function follow(of: Exchange): Promise<void> {
  const { signal: gone } = of.life;
  const writer = new Writer(of.turn);
  const position: Position = { lastId: '' };
  for (let failures = 0; !gone.aborted; failures++) {
    let waitMs: number | null = backoffMs(failures);
    try {
      if (await readAnswer(of, writer, position)) return keep();
      update(of.turn, { isAway: true });
    } catch (error) {
      if (gone.aborted) return;
      waitMs = onFailure(of, error, failures);
    }
    if (waitMs === null) return keep();
    await pause(waitMs, gone);
  }
}

export function ask(question: string, isAgent: boolean): void {
  const of = newExchange(question, isAgent);
  exchanges.value = [...exchanges.value, of];
  keep();
  void follow(of);
}

export function stop(of: Exchange): void {
  of.life.abort();
  update(of.turn, { status: 'Cancelled', isAway: false, refusal: null });
  keep();
}

export function askAgain(of: Exchange): void {
  exchanges.value = exchanges.value.filter((one) => one !== of);
  ask(of.turn.query, of.isAgent);
}

export function forgetAll(): void {
  exchanges.value.forEach(({ life }) => life.abort());
  exchanges.value = [];
  keep();
}
