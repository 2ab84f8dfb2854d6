// SPDX-License-Identifier: MIT
//
// uploads: files on their way to the node. They wait here while the node takes no more, and continue while one looks at another page.
import { effect, signal } from '@preact/signals';
import { backoffMs, pause } from '../api/pause';
import { Problem, session, Unreachable } from '../session/session';
import { loadDocs } from './library';
import { uploadFile } from './upload_file';

export type UploadState =
  | { at: 'waiting' }
  | { at: 'sending'; share: number }
  | { at: 'delayed'; untilMs: number; why: 'limit' | 'away' | 'busy' }
  | { at: 'refused'; detail: string }
  | { at: 'known'; filename: string };

export interface Upload {
  key: number;
  file: File;
  state: UploadState;
}

const AT_ONCE = 2;
/** What is not stored yet, or was refused. */
export const uploads = signal<Upload[]>([]);
let lastKey = 0;
let running = 0;
let life = new AbortController();

const change = (key: number, state: UploadState) => void (uploads.value = uploads.value.map((one) => (one.key === key ? { ...one, state } : one)));
export const dismiss = (key: number) => void (uploads.value = uploads.value.filter((one) => one.key !== key));
export const isPending = ({ state }: Upload) => state.at !== 'refused' && state.at !== 'known';

/** How long to wait before the next try; null: there is none. */
function onFailure(key: number, error: unknown, failures: number): number | null {
  if (error instanceof Unreachable || (error instanceof Problem && error.isPassing)) {
    const waitMs = error instanceof Problem ? Math.max(1, error.retryAfterS) * 1000 : backoffMs(failures);
    const why = error instanceof Unreachable ? 'away' : error.status === 429 ? 'limit' : 'busy';
    change(key, { at: 'delayed', untilMs: Date.now() + waitMs, why });
    return waitMs;
  }
  if (!(error instanceof Problem)) throw error;
  change(key, { at: 'refused', detail: error.detail });
  return null;
}

async function deliver({ key, file }: Upload, gone: AbortSignal): Promise<void> {
  for (let failures = 0; !gone.aborted && uploads.value.some((one) => one.key === key); failures++) {
    change(key, { at: 'sending', share: 0 });
    let waitMs: number | null;
    try {
      const { duplicate, filename } = await uploadFile(file, (share) => change(key, { at: 'sending', share }), gone);
      if (duplicate) change(key, { at: 'known', filename });
      else dismiss(key);
      return void loadDocs();
    } catch (error) {
      if (gone.aborted) return;
      waitMs = onFailure(key, error, failures);
    }
    if (waitMs === null) return;
    await pause(waitMs, gone);
  }
}

function startNext(): void {
  while (running < AT_ONCE) {
    const next = uploads.value.find(({ state }) => state.at === 'waiting');
    if (!next) return;
    running++;
    void deliver(next, life.signal).finally(() => {
      running--;
      startNext();
    });
  }
}

export function addFiles(files: File[]): void {
  uploads.value = [...uploads.value, ...files.map((file) => ({ key: ++lastKey, file, state: { at: 'waiting' } as const }))];
  startNext();
}

// Whose they are has left.
effect(() => {
  if (session.value) return;
  life.abort();
  life = new AbortController();
  uploads.value = [];
});

addEventListener('beforeunload', (event) => uploads.value.some(isPending) && event.preventDefault());
