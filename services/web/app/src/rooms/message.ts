// SPDX-License-Identifier: MIT
//
// message: what a room holds, and what the tab still has to send.

export interface Message {
  /** Its moment in ms and a count: the order of the room. */
  id: string;
  from: string;
  text: string;
  tagged: string[];
  reply_to: string | null;
  timestamp: string;
}

/** What only the sender of a command sees. */
export interface Private {
  text: string;
  username?: string;
  caller_key?: string;
  signing_secret?: string;
}

export interface Unsent {
  key: string;
  text: string;
  reply_to: string | null;
  /** Why the node refused it; undefined: it is under way. */
  refusal?: string;
}

const partsOf = (id: string) => id.split('-').map(Number) as [number, number];
export const momentOfId = (id: string) => partsOf(id)[0];

export function compare(a: string, b: string): number {
  const [[ms, n], [otherMs, otherN]] = [partsOf(a), partsOf(b)];
  return ms - otherMs || n - otherN;
}

/** Both lists without doubles, oldest first. */
export function merge(some: Message[], more: Message[]): Message[] {
  const byId = new Map([...some, ...more].map((one) => [one.id, one]));
  return [...byId.values()].sort((a, b) => compare(a.id, b.id));
}
