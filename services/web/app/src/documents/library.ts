// SPDX-License-Identifier: MIT
//
// library: the documents of this user, and how those that are being indexed get on.
import { signal } from '@preact/signals';
import { openSocket } from '../api/socket';
import { call, onBehalf, pages } from '../session/session';

export type DocStatus = 'UPLOADED' | 'QUEUED' | 'INDEXING' | 'INDEXED' | 'FAILED';
export type Stage = 'PARSE' | 'CHUNK' | 'EMBED' | 'STORE' | 'COMPLETE';

interface Job {
  id: string;
  stage: Stage;
  progress: number | null;
  errorMessage: string | null;
}

export interface Doc {
  id: string;
  filename: string;
  sizeBytes: number;
  status: DocStatus;
  createdAt: string;
  latestJob: Job | null;
}

interface Progress {
  type: 'index_progress' | 'index_complete' | 'index_failed';
  data: { document_id: string; job_id: string; stage: Stage; progress: number; message: string };
}

/** The newest first; null: not loaded yet. */
export const docs = signal<Doc[] | null>(null);
export const hasFailed = signal(false);
let loads = 0;

export async function loadDocs(): Promise<void> {
  const load = ++loads;
  try {
    const all: Doc[] = [];
    for await (const { documents } of pages<{ documents: Doc[] }>('api/docs', onBehalf())) all.push(...documents);
    if (load !== loads) return;
    docs.value = all;
    hasFailed.value = false;
  } catch {
    hasFailed.value = docs.value === null;
  }
}

const STATUS = { index_progress: 'INDEXING', index_complete: 'INDEXED', index_failed: 'FAILED' } as const;

function onProgress({ type, data }: Progress): void {
  const doc = docs.value?.find((one) => one.id === data.document_id);
  // Another tab has stored it, or a reindexing began.
  if (!doc || (doc.latestJob && doc.latestJob.id !== data.job_id)) return void loadDocs();
  const latestJob = { id: data.job_id, stage: data.stage, progress: data.progress, errorMessage: data.message || null };
  docs.value = docs.value!.map((one) => (one === doc ? { ...one, status: STATUS[type], latestJob } : one));
}

/** Follows the documents until what it returns is called. */
export function watchDocs(): () => void {
  docs.value = null;
  const socket = openSocket({
    path: 'ws/indexing',
    query: onBehalf,
    probe: 'api/docs',
    onOpen: () => void loadDocs(),
    onMessage: (message) => (message as { type: string }).type in STATUS && onProgress(message as Progress),
    onRefused: () => void (hasFailed.value = docs.value === null),
  });
  void loadDocs();
  return socket.close;
}

export async function deleteDoc(id: string): Promise<void> {
  await call('DELETE', `api/docs/${id}`, { query: onBehalf() });
  docs.value = (docs.value ?? []).filter((one) => one.id !== id);
}

export async function reindexDoc(id: string): Promise<void> {
  await call('POST', `api/docs/${id}/reindex`, { query: onBehalf() });
  await loadDocs();
}

export const isUnderWay = ({ status }: Doc) => status === 'UPLOADED' || status === 'QUEUED' || status === 'INDEXING';
