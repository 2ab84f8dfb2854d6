// SPDX-License-Identifier: MIT
//
// room: the room that is shown: its messages as they come, and those that this tab has not got through yet. These are kept until the
// node has confirmed them, and count once however often they are sent.
import { signal, type Signal } from '@preact/signals';
import { backoffMs, pause } from '../api/pause';
import { rootPath } from '../api/request';
import { openSocket, type Socket } from '../api/socket';
import { call, onBehalf, Problem, session } from '../session/session';
import { readBefore } from './history';
import { merge, type Message, type Private, type Unsent } from './message';

export interface OpenRoom {
  id: string;
  status: Signal<'loading' | 'ready' | 'missing' | 'failed'>;
  messages: Signal<Message[]>;
  unsent: Signal<Unsent[]>;
  /** What only this tab sees, by the message to which it belongs. */
  privates: Signal<Map<string, Private>>;
  isFirst: Signal<boolean>;
  isAway: Signal<boolean>;
  say: (text: string, replyTo: string | null) => void;
  drop: (one: Unsent) => void;
  readEarlier: () => void;
  close: () => void;
}

const keyOf = (room: string) => `parley.room ${rootPath} ${session.value?.user} ${room}`;

function readUnsent(room: string): Unsent[] {
  try {
    return JSON.parse(sessionStorage.getItem(keyOf(room)) ?? '[]') as Unsent[];
  } catch {
    return [];
  }
}

export function openRoom(id: string): OpenRoom {
  const life = new AbortController();
  const kept = keyOf(id);
  const status: OpenRoom['status'] = signal('loading');
  const messages = signal<Message[]>([]);
  const unsent = signal<Unsent[]>(readUnsent(id));
  const privates = signal(new Map<string, Private>());
  const isFirst = signal(false);
  const isAway = signal(false);
  let socket: Socket | undefined;
  let isReading = false;
  /** All messages up to this one are here. A message of this tab may be newer than one that is still to come. */
  let complete = '0-0';
  let sending = Promise.resolve();

  const onProblem = (error: unknown) => {
    if (!life.signal.aborted) status.value = error instanceof Problem && error.status === 404 ? 'missing' : 'failed';
  };

  // --- reading ---

  function onFrame(frame: unknown): void {
    const one = frame as Message | { private: Private } | { error: unknown };
    if (!('id' in one)) return;
    complete = one.id;
    messages.value = merge(messages.value, [one]);
  }

  async function start(): Promise<void> {
    const read = await readBefore(id, null, life.signal);
    messages.value = read.messages;
    isFirst.value = read.isFirst;
    complete = read.messages.at(-1)?.id ?? complete;
    status.value = 'ready';
    socket = openSocket({
      path: `ws/rooms/${id}`,
      query: () => ({ ...onBehalf(), after: complete }),
      onMessage: onFrame,
      probe: `api/rooms/${id}/messages`,
      onRefused: onProblem,
    });
    socket.isAway.subscribe((value) => void (isAway.value = value));
    unsent.value.filter(({ refusal }) => refusal === undefined).forEach(enqueue);
  }

  async function readEarlier(): Promise<void> {
    const first = messages.value[0];
    if (isReading || isFirst.value || !first) return;
    isReading = true;
    const read = await readBefore(id, first.id, life.signal).catch(() => undefined);
    isReading = false;
    if (!read || life.signal.aborted) return;
    messages.value = merge(read.messages, messages.value);
    isFirst.value = read.isFirst;
  }

  // --- writing ---

  function keep(next: Unsent[]): void {
    unsent.value = next;
    if (next.length) sessionStorage.setItem(kept, JSON.stringify(next));
    else sessionStorage.removeItem(kept);
  }
  const drop = (one: Unsent) => keep(unsent.value.filter(({ key }) => key !== one.key));

  async function deliver(one: Unsent): Promise<void> {
    for (let failures = 0; !life.signal.aborted; failures++) {
      try {
        const response = await call('POST', `api/rooms/${id}/messages`, { query: onBehalf(), body: { text: one.text, reply_to: one.reply_to }, headers: { 'Idempotency-Key': one.key } });
        const { private: own, ...message } = (await response.json()) as Message & { private?: Private };
        if (own) privates.value = new Map(privates.value).set(message.id, own);
        messages.value = merge(messages.value, [message]);
        return drop(one);
      } catch (error) {
        if (error instanceof Problem && !error.isPassing) return keep(unsent.value.map((each) => (each.key === one.key ? { ...each, refusal: error.detail } : each)));
        await pause(error instanceof Problem ? Math.max(error.retryAfterS * 1000, backoffMs(failures)) : backoffMs(failures), life.signal);
      }
    }
  }

  /** One after the other, so that they stay in their order. */
  const enqueue = (one: Unsent) => void (sending = sending.then(() => deliver(one)));

  function say(text: string, replyTo: string | null): void {
    const one: Unsent = { key: crypto.getRandomValues(new Uint32Array(4)).join('-'), text, reply_to: replyTo };
    keep([...unsent.value, one]);
    enqueue(one);
  }

  const close = () => {
    life.abort();
    socket?.close();
  };
  void start().catch(onProblem);
  return { id, status, messages, unsent, privates, isFirst, isAway, say, drop, readEarlier: () => void readEarlier(), close };
}
