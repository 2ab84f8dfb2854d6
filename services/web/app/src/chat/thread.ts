// SPDX-License-Identifier: MIT
//
// thread: the questions of the topic that is shown. What the node has is the truth: the app reads it when a topic is opened, when
// another tab has changed it and when one comes back to the page, and follows what has no answer yet.
import { computed, signal, type Signal } from '@preact/signals';
import { backoffMs, pause } from '../api/pause';
import { announceChange, call, pages, Problem, session, Unreachable } from '../session/session';
import { follow } from './follow';
import { dropUnsent, putUnsent, unsentOf, type Unsent } from './outbox';
import { noteModels } from './models';
import { loadTopics, newTopicId, noteTopic } from './topics';
import { hasEnded, newTurn, stateOf, turnOf, update, type Row, type Turn } from './turn';

export interface Thread {
  topic: string;
  turns: Signal<Turn[]>;
  status: Signal<'loading' | 'ready' | 'missing' | 'failed'>;
  life: AbortController;
  followed: Set<Turn>;
}

/** Browsers have six connections to a node for all tabs. The questions of a topic are answered in their order anyway. */
const FOLLOWED_MAX = 2;
export const thread = signal<Thread | null>(null);
/** The first question of the thread that has no answer yet. */
export const live = computed(() => thread.value?.turns.value.find((turn) => !hasEnded(turn.state.value.status)));

const newThread = (topic: string, status: 'loading' | 'ready'): Thread => ({ topic, turns: signal([]), status: signal(status), life: new AbortController(), followed: new Set() });
const isWaiting = (turn: Turn) => turn.seq.value !== null && !hasEnded(turn.state.value.status);

export function closeThread(): void {
  thread.value?.life.abort();
  thread.value = null;
}

// --- reading it ---

async function readRows(topic: string, abort: AbortSignal): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const page of pages<Row[]>('api/get-topic-thread', { Topic: topic, Detail: 'true' }, abort)) rows.push(...page);
  return rows;
}

/** Turns that are there stay the same objects, so nothing that is shown jumps. */
function merge(of: Thread, rows: Row[]): void {
  const known = new Map(of.turns.value.map((turn) => [turn.seq.value, turn]));
  const turns = rows.map((row) => {
    const turn = known.get(row.Seq);
    if (!turn) return turnOf(row);
    if (!hasEnded(turn.state.value.status) && row.Status && hasEnded(row.Status)) update(turn, stateOf(row));
    return turn;
  });
  noteModels(rows.map((row) => row.Model ?? ''));
  of.turns.value = [...turns, ...of.turns.value.filter((turn) => turn.seq.value === null)];
}

async function readThread(of: Thread): Promise<void> {
  try {
    merge(of, await readRows(of.topic, of.life.signal));
    of.status.value = 'ready';
  } catch (error) {
    if (of.life.signal.aborted) return;
    const isMissing = error instanceof Problem && (error.status === 404 || error.status === 403);
    if (of.turns.value.some((turn) => turn.seq.value === null)) of.status.value = 'ready';
    else if (isMissing) of.status.value = 'missing';
    else if (of.status.value === 'loading') of.status.value = 'failed';
  }
  followNext(of);
}

function followNext(of: Thread): void {
  if (of.life.signal.aborted) return;
  for (const turn of of.turns.value.filter(isWaiting)) {
    if (of.followed.size >= FOLLOWED_MAX) return;
    if (of.followed.has(turn)) continue;
    of.followed.add(turn);
    void follow(of.topic, turn, of.life.signal).finally(() => {
      of.followed.delete(turn);
      noteModels([turn.state.value.model]);
      followNext(of);
    });
  }
}

export function openThread(topic: string): void {
  if (thread.value?.topic === topic) return;
  closeThread();
  const of = newThread(topic, 'loading');
  thread.value = of;
  for (const unsent of unsentOf(session.value?.user ?? '', topic)) deliver(of, showUnsent(of, unsent), unsent);
  void readThread(of);
}

/** Reads again what is shown, if it can have changed. */
export function refreshThread(topic?: string): void {
  const of = thread.value;
  if (of && (topic === undefined || of.topic === topic) && of.status.value !== 'loading') void readThread(of);
}

export function reopenThread(): void {
  if (!thread.value) return;
  thread.value.status.value = 'loading';
  void readThread(thread.value);
}

// --- asking ---

/** In the place of the turn that it replaces, else at the end. */
function showUnsent(of: Thread, unsent: Unsent, replaced?: Turn): Turn {
  const turn = newTurn(unsent.key, unsent.text);
  const { value: turns } = of.turns;
  const isShown = replaced !== undefined && turns.includes(replaced);
  of.turns.value = isShown ? turns.map((one) => (one === replaced ? turn : one)) : [...turns, turn];
  return turn;
}

const bodyOf = ({ user, topic, text, model, replaces }: Unsent) => ({
  Topic: topic,
  User: user,
  Query: text,
  ...(model ? { Model: model } : {}),
  ...(replaces === undefined ? {} : { Modifiers: { Replaces: replaces } }),
});

function onAdded(of: Thread, turn: Turn, unsent: Unsent, seq: number): void {
  dropUnsent(unsent.key);
  // A thread that was read meanwhile has it already.
  of.turns.value = of.turns.value.filter((one) => one === turn || (one.seq.value !== seq && one.seq.value !== (unsent.replaces ?? null)));
  turn.seq.value = seq;
  update(turn, { status: 'Open', isAway: false, refusal: null });
  noteTopic(of.topic, unsent.text);
  announceChange(of.topic);
  followNext(of);
}

/** Returns how long to wait before the next try; null: there is none. */
function onRefused(turn: Turn, unsent: Unsent, error: unknown, failures: number): number | null {
  if (error instanceof Unreachable) {
    update(turn, { isAway: true });
    return backoffMs(failures);
  }
  if (!(error instanceof Problem)) throw error;
  if (error.status === 401) return null; // it is sent when one is signed in again
  if (error.isPassing) {
    const waitMs = Math.max(1, error.retryAfterS) * 1000;
    update(turn, { isAway: false, refusal: { detail: error.detail, untilMs: Date.now() + waitMs } });
    return waitMs;
  }
  dropUnsent(unsent.key);
  update(turn, { status: 'Unsent', reason: error.detail, isAway: false, refusal: null });
  return null;
}

/** Sends a question until the node has confirmed it, or does not want it. */
async function deliver(of: Thread, turn: Turn, unsent: Unsent): Promise<void> {
  const { signal: gone } = of.life;
  for (let failures = 0; !gone.aborted && turn.state.value.status === 'Sending'; failures++) {
    let waitMs: number | null;
    try {
      const response = await call('POST', 'api/add-query', { body: bodyOf(unsent), headers: { 'Idempotency-Key': unsent.key }, signal: gone });
      const { Seq } = (await response.json()) as { Seq: number };
      return onAdded(of, turn, unsent, Seq);
    } catch (error) {
      if (gone.aborted) return;
      waitMs = onRefused(turn, unsent, error, failures);
    }
    if (waitMs === null) return;
    await pause(waitMs, gone);
  }
}

/** Asks in the topic that is shown, or in a new one; returns the topic. */
export function ask(text: string, model: string, replaces?: Turn): string {
  if (!thread.value) thread.value = newThread(newTopicId(), 'ready');
  const of = thread.value;
  const unsent: Unsent = { key: newTopicId() + newTopicId(), user: session.value!.user, topic: of.topic, text, model };
  if (replaces) unsent.replaces = replaces.seq.value ?? undefined;
  putUnsent(unsent);
  void deliver(of, showUnsent(of, unsent, replaces), unsent);
  return of.topic;
}

/** Stops a question. What was not sent yet is taken back. */
export async function cancel(turn: Turn): Promise<void> {
  const of = thread.value;
  if (!of) return;
  if (turn.seq.value === null) {
    dropUnsent(turn.key);
    update(turn, { status: 'Unsent', reason: '', isAway: false, refusal: null });
    return;
  }
  try {
    await call('POST', 'api/cancel-query', { body: { Topic: of.topic, Seq: turn.seq.value } });
    update(turn, { status: 'Cancelled', isAway: false });
    announceChange(of.topic);
  } catch (error) {
    // It was answered in this moment, and the stream says so.
    if (!(error instanceof Problem && error.status === 409)) throw error;
  }
}

export function onNews(topic: string): void {
  void loadTopics();
  refreshThread(topic);
}
