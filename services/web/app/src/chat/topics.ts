// SPDX-License-Identifier: MIT
//
// topics: the list in the side bar, the newest first.
import { signal } from '@preact/signals';
import { announceChange, call, pages, Problem, session } from '../session/session';

export interface Topic {
  id: string;
  name: string;
}

const NAME_MAX = 200;
const ID_BYTES = 12;
const FOUND_MAX = 20;

/** null: not loaded yet. */
export const topics = signal<Topic[] | null>(null);
export const hasTopicsFailed = signal(false);

const onBehalf = () => ({ OnBehalfOf: session.value?.user ?? '' });

export const nameOf = (id: string) => topics.value?.find((one) => one.id === id)?.name;

export function newTopicId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(ID_BYTES));
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, '-').replace(/\//g, '_');
}

export async function loadTopics(): Promise<void> {
  try {
    const all: Topic[] = [];
    for await (const page of pages<Record<string, string>>('api/user-topics', onBehalf())) all.push(...Object.entries(page).map(([id, name]) => ({ id, name })));
    topics.value = all.reverse();
    hasTopicsFailed.value = false;
  } catch (error) {
    if (error instanceof Problem && error.status === 404) topics.value = [];
    else hasTopicsFailed.value = topics.value === null;
  }
}

/** A topic that has just got its first question. */
export function noteTopic(id: string, question: string): void {
  if (topics.value?.some((one) => one.id === id)) return;
  topics.value = [{ id, name: question.slice(0, NAME_MAX) }, ...(topics.value ?? [])];
}

export async function renameTopic(id: string, name: string): Promise<void> {
  await call('PUT', 'api/rename-topic', { query: { ...onBehalf(), Topic: id, Description: name } });
  topics.value = (topics.value ?? []).map((one) => (one.id === id ? { id, name } : one));
  announceChange(id);
}

export async function deleteTopic(id: string): Promise<void> {
  await call('DELETE', 'api/topic', { query: { ...onBehalf(), Topic: id } });
  topics.value = (topics.value ?? []).filter((one) => one.id !== id);
  announceChange(id);
}

/** The topics that contain a text. A request searches a part of what there is, so there may be several. */
export async function findTopics(text: string, signal: AbortSignal): Promise<Topic[]> {
  const found = new Map<string, Topic>();
  for await (const { Topics } of pages<{ Topics: { Topic: string; Name: string }[] }>('api/find-topics', { ...onBehalf(), Text: text, limit: FOUND_MAX }, signal)) {
    for (const { Topic, Name } of Topics) found.set(Topic, { id: Topic, name: Name });
    if (found.size >= FOUND_MAX) break;
  }
  return [...found.values()];
}
