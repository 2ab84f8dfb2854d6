// SPDX-License-Identifier: MIT
//
// follow: shows the answer to one question while it is written, until its end. When the stream breaks, whatever the reason, it is asked
// for again from the last event on; any node can continue it.
import { readEvents, type ServerEvent } from '../api/events';
import { backoffMs, pause } from '../api/pause';
import { call, Problem } from '../session/session';
import { hasEnded, stateOf, update, type Row, type Turn } from './turn';

/** A tab that nobody sees gives its connection back: browsers have six for all tabs of a node. */
const UNSEEN_MS = 60_000;
const FRAME_MS = 50;

/** Collects text, and shows it as often as the page can draw it. */
export class Writer {
  #think: string;
  #answer: string;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #tookMs = 0;

  constructor(readonly turn: Turn) {
    ({ think: this.#think, answer: this.#answer } = turn.state.value);
  }

  add(kind: 'think' | 'answer', text: string): void {
    if (kind === 'think') this.#think += text;
    else this.#answer += text;
    // Long answers take longer to draw: half of the time stays for everything else.
    this.#timer ??= setTimeout(() => this.show(), Math.max(FRAME_MS, this.#tookMs * 2));
  }

  set(think: string, answer: string): void {
    [this.#think, this.#answer] = [think, answer];
    this.show();
  }

  get hasText(): boolean {
    return this.#think !== '' || this.#answer !== '';
  }

  show(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const began = performance.now();
    update(this.turn, { think: this.#think, answer: this.#answer });
    requestAnimationFrame(() => (this.#tookMs = performance.now() - began));
  }

  /** What was collected, before the end is shown with the stored answer. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

export interface Position {
  lastId: string;
}

function isRow(data: unknown): data is Row {
  return typeof (data as Row).Status === 'string' && 'Query' in (data as Row);
}

/** Returns whether this was the last event of the question. */
export function take(event: ServerEvent, writer: Writer, position: Position): boolean {
  const { turn } = writer;
  const data = event.data as { text: string; Position: number; EtaSeconds: number | null };
  if (event.id) position.lastId = event.id;
  switch (event.name) {
    case 'queue':
      update(turn, { status: 'Open', position: data.Position, etaS: data.EtaSeconds });
      return false;
    case 'think':
    case 'token':
      if (turn.state.value.status !== 'Pending') update(turn, { status: 'Pending' });
      writer.add(event.name === 'think' ? 'think' : 'answer', data.text);
      return false;
    case 'restart':
      update(turn, { hasRestarted: writer.hasText, status: 'Pending' });
      writer.set('', '');
      return false;
    case 'reset':
      writer.set(turn.state.value.think, data.text);
      return false;
    case 'done':
    case 'error':
      if (!isRow(event.data)) return false;
      writer.stop();
      update(turn, { ...stateOf(event.data), hasRestarted: false });
      return true;
    default:
      return false;
  }
}

/** Aborts what it returns with `signal`, and when the page is not seen for a while. */
function whileSeen(signal: AbortSignal): { signal: AbortSignal; end: () => void } {
  const stopper = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const stop = () => stopper.abort();
  const onSight = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(stop, UNSEEN_MS);
  };
  signal.addEventListener('abort', stop);
  document.addEventListener('visibilitychange', onSight);
  onSight();
  return {
    signal: stopper.signal,
    end: () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      document.removeEventListener('visibilitychange', onSight);
    },
  };
}

function whenSeen(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener('visibilitychange', check);
      signal.removeEventListener('abort', check);
      resolve();
    };
    document.addEventListener('visibilitychange', check);
    signal.addEventListener('abort', check);
    check();
  });
}

/** Reads one stream to its end; returns whether the question has ended. */
async function readStream(topic: string, turn: Turn, writer: Writer, position: Position, signal: AbortSignal): Promise<boolean> {
  const query = { Topic: topic, Seq: turn.seq.value!, Detail: 'true', ...(position.lastId ? { after: position.lastId } : {}) };
  const seen = whileSeen(signal);
  try {
    const response = await call('GET', 'api/check-query', { query, isStream: true, signal: seen.signal });
    update(turn, { isAway: false, refusal: null });
    for await (const event of readEvents(response.body!)) if (take(event, writer, position)) return true;
    return false;
  } finally {
    seen.end();
  }
}

/** Resolves when the question has ended, is gone, or `signal` is aborted. */
export async function follow(topic: string, turn: Turn, signal: AbortSignal): Promise<void> {
  const writer = new Writer(turn);
  // A turn that was followed before begins again: what it shows is replaced by what the node has.
  writer.set('', '');
  const position = { lastId: '' };
  for (let failures = 0; !signal.aborted && !hasEnded(turn.state.value.status); failures++) {
    await whenSeen(signal);
    const idBefore = position.lastId;
    let waitMs = 0;
    try {
      if (await readStream(topic, turn, writer, position, signal)) return;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Problem && !error.isPassing) {
        if (error.status !== 401) update(turn, { status: 'Failed', reason: error.detail });
        return;
      }
      if (failures > 0 && !document.hidden) update(turn, { isAway: true });
      if (error instanceof Problem) waitMs = error.retryAfterS * 1000;
    }
    if (position.lastId !== idBefore) failures = 0;
    await pause(Math.max(waitMs, failures === 0 ? 0 : backoffMs(failures)), signal);
  }
}
