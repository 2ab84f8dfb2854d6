// SPDX-License-Identifier: MIT
//
// history: the messages before a moment. The node lists a room from any moment on, the oldest first; so this looks for a moment from
// which on there are enough messages and not too many, first within an hour, and further back where a room is quiet.
import { call, onBehalf } from '../session/session';
import { compare, momentOfId, type Message } from './message';

const HOUR_MS = 3_600_000;
const ENOUGH = 50;
const PAGE = 400;
/** The clock of this browser may be behind that of the node. */
const CLOCK_MS = 24 * HOUR_MS;

interface Page {
  messages: Message[];
  isMore: boolean;
}

export async function readAfter(room: string, after: string, signal: AbortSignal): Promise<Page> {
  const response = await call('GET', `api/rooms/${room}/messages`, { query: { ...onBehalf(), limit: PAGE, ...(after && { after }) }, signal });
  const isMore = response.headers.get('link')?.includes('rel="next"') ?? false;
  return { messages: (await response.json()).messages, isMore };
}

/** The messages before `before`, or the newest ones; `isFirst`: there are none before them. */
export async function readBefore(room: string, before: string | null, signal: AbortSignal): Promise<{ messages: Message[]; isFirst: boolean }> {
  const end = before === null ? Date.now() + CLOCK_MS : momentOfId(before) + 1;
  let [few, many, span] = [0, end, before === null ? CLOCK_MS + HOUR_MS : HOUR_MS];
  for (;;) {
    const isAll = span >= end;
    const page = await readAfter(room, isAll ? '' : `${end - span}-0`, signal);
    const messages = before === null ? page.messages : page.messages.filter((one) => compare(one.id, before) < 0);
    const isCut = page.isMore && messages.length === page.messages.length;
    if (!isCut && (messages.length >= ENOUGH || isAll)) return { messages, isFirst: isAll };
    if (isCut) many = span;
    else few = span;
    if (many - few <= 1) return { messages, isFirst: isAll };
    const isBounded = isCut || many < end;
    span = isBounded ? few + Math.max(1, Math.floor((many - few) / 2)) : Math.min(end, span * 12);
  }
}
