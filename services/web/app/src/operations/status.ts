// SPDX-License-Identifier: MIT
//
// status: the state of the cluster, read every two seconds while one looks at it. What was read is kept for the curve.
import { effect, signal } from '@preact/signals';
import { pause } from '../api/pause';
import { call, session } from '../session/session';

export interface Engine {
  User: string;
  Engine: string | null;
  State: 'waiting' | 'working' | 'resting' | 'drained';
  Slots: { Waiting: number; Working: number; Resting: number };
  SeenSecondsAgo: number;
  /** Models: with commas between them. */
  Info: { Models?: string; Reason?: string };
  RestingUntil: string | null;
  Drained: boolean;
}

export interface Node {
  Node: string;
  Address: string | null;
  Host: string | null;
  Pid: number | null;
  Version: string | null;
  SeenSecondsAgo: number;
}

/** `GET /api/status`. Null: the shards that know it cannot be reached. */
export interface Status {
  Depth: number | null;
  OldestSeconds: number | null;
  InFlight: number | null;
  Recent: { Seconds: number; Added: number; Done: number; Failed: number; DonePerSecond: number } | null;
  Engines: Engine[] | null;
  Nodes: Node[] | null;
  GoneNodes: Node[] | null;
  Work: { Runs: number | null; IndexingJobs: number; UnreadableJobs: number; Deliveries: number; Evaluations: number; Batches: number; FailedQuestions: number } | null;
  DifferentSettings: { Setting: string; Here: string; There: string; OtherNode: string }[];
  Redis: { Status: 'connected' | 'degraded' | 'away'; RoundTripUs: number | null; Trouble?: string; MissingShards?: number[] };
}

export interface Sample {
  atS: number;
  waiting: number | null;
  running: number | null;
}

const EVERY_MS = 2000;
const SAMPLES_MAX = 900;

export const status = signal<Status | null>(null);
export const isAway = signal(false);
export const samples = signal<Sample[]>([]);

export async function readStatus(signal?: AbortSignal): Promise<void> {
  try {
    const now = (await (await call('GET', 'api/status', { signal })).json()) as Status;
    status.value = now;
    isAway.value = false;
    samples.value = [...samples.value, { atS: Date.now() / 1000, waiting: now.Depth, running: now.InFlight }].slice(-SAMPLES_MAX);
  } catch {
    isAway.value = !signal?.aborted;
  }
}

async function run(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if (!document.hidden) await readStatus(signal);
    await pause(EVERY_MS, signal);
  }
}

/** Reads until what it returns is called. */
export function watchStatus(): () => void {
  const life = new AbortController();
  void run(life.signal);
  return () => life.abort();
}

effect(() => {
  if (session.value) return;
  status.value = null;
  samples.value = [];
});
