// SPDX-License-Identifier: MIT
//
// lookups: the fragments of a topic for which engines look for matching passages. No stream says when matches have come, so they are
// read again while some are missing, less and less often, as long as one looks at them.
import { signal } from '@preact/signals';
import { pause } from '../api/pause';
import { call, pages, Problem } from '../session/session';

export interface Lookup {
  fragment: string;
  /** null: not known yet. */
  matches: string[] | null;
}

interface Row {
  Fragments: Record<string, string[]>[];
  Pending?: string[];
}

const FIRST_MS = 400;
const LONGEST_MS = 8000;

/** Those of the topic that is shown, the newest first; null: not read yet. */
export const lookups = signal<Lookup[] | null>(null);
export const fault = signal<unknown>(null);
/** Asked for in this page, and not among what the node has sent with matches. */
const asked = signal<{ topic: string; fragment: string; fingerprint: string }[]>([]);

async function read(topic: string, abort: AbortSignal): Promise<{ isComplete: boolean }> {
  const found = new Map<string, string[]>();
  const pending = new Set<string>();
  for await (const { Lookups } of pages<{ Lookups: Row[] }>('api/get-lookups', { Topic: topic, Detail: 'true' }, abort))
    for (const { Fragments, Pending = [] } of Lookups) {
      for (const one of Fragments) for (const [fragment, matches] of Object.entries(one)) found.set(fragment, matches);
      for (const fingerprint of Pending) pending.add(fingerprint);
    }
  const mine = asked.value.filter((one) => one.topic === topic);
  const waiting = mine.filter(({ fragment }) => !found.has(fragment)).map(({ fragment, fingerprint }) => ({ fragment, matches: pending.has(fingerprint) ? null : [] }));
  const order = new Map(mine.map(({ fragment }, i) => [fragment, i]));
  lookups.value = [...waiting, ...[...found].map(([fragment, matches]) => ({ fragment, matches }))].sort((a, b) => (order.get(b.fragment) ?? -1) - (order.get(a.fragment) ?? -1));
  return { isComplete: pending.size === 0 };
}

async function run(topic: string, abort: AbortSignal): Promise<void> {
  for (let waitMs = FIRST_MS; !abort.aborted; waitMs = Math.min(LONGEST_MS, waitMs * 1.5)) {
    try {
      if ((await read(topic, abort)).isComplete) return;
      fault.value = null;
    } catch (error) {
      if (abort.aborted) return;
      fault.value = error;
      if (error instanceof Problem && !error.isPassing) return;
    }
    await pause(waitMs, abort);
  }
}

/** Reads them until all matches are there, or what it returns is called. */
export function watchLookups(topic: string): () => void {
  const life = new AbortController();
  void run(topic, life.signal);
  return () => {
    life.abort();
    lookups.value = null;
  };
}

export async function addLookup(topic: string, seq: number, fragment: string): Promise<void> {
  const response = await call('POST', 'api/add-lookup', { body: { Topic: topic, Seq: seq, Fragment: fragment } });
  const { Fingerprint } = (await response.json()) as { Fingerprint: string };
  asked.value = [...asked.value.filter((one) => one.fragment !== fragment || one.topic !== topic), { topic, fragment, fingerprint: Fingerprint }];
}
