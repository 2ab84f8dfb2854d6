// SPDX-License-Identifier: MIT
//
// outbox: what only this tab has: questions that no node has confirmed, and drafts. It outlives a reload.
import { rootPath } from '../api/request';

export interface Unsent {
  /** The Idempotency-Key, with which a question counts once however often it is sent. */
  key: string;
  user: string;
  topic: string;
  text: string;
  model: string;
  /** The Seq of the question whose place it takes. */
  replaces?: number;
}

const KEY = `parley.outbox ${rootPath}`;
const draftKey = (topic: string) => `parley.draft ${rootPath} ${topic}`;

function read(): Unsent[] {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? '[]') as Unsent[];
  } catch {
    return [];
  }
}

const write = (all: Unsent[]) => sessionStorage.setItem(KEY, JSON.stringify(all));

export const unsentOf = (user: string, topic: string) => read().filter((one) => one.user === user && one.topic === topic);
export const putUnsent = (one: Unsent) => write([...read(), one]);
export const dropUnsent = (key: string) => write(read().filter((one) => one.key !== key));

/** `topic`: '' for a new one. */
export const draftOf = (topic: string) => sessionStorage.getItem(draftKey(topic)) ?? '';

export function keepDraft(topic: string, text: string): void {
  if (text) sessionStorage.setItem(draftKey(topic), text);
  else sessionStorage.removeItem(draftKey(topic));
}
