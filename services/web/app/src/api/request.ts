// SPDX-License-Identifier: MIT
//
// request: one request to the node that served this page. Nothing else is ever asked.
import { Unreachable } from './events';

const ROOT = new URL('../', location.href.replace(/[?#].*/, ''));
const PATIENCE_MS = 30_000;

/** The node has refused a request (application/problem+json). */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    /** 0: it did not say when to try again. */
    readonly retryAfterS: number,
  ) {
    super(detail);
  }

  /** It may be accepted later as it is. */
  get isPassing(): boolean {
    return this.status === 429 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

export { Unreachable };

export interface Call {
  query?: Record<string, string | number>;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** For streams, whose reader watches over them once they have begun. */
  isStream?: boolean;
}

export const addressOf = (path: string) => new URL(path, ROOT).href;

/** The path of this Parley, which other apps of the same origin do not share. */
export const rootPath = ROOT.pathname;

// A `+` stands for itself in a topic, so everything is percent-encoded.
function withQuery(path: string, query: Record<string, string | number> = {}): string {
  const words = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return addressOf(words.length ? `${path}?${words.join('&')}` : path);
}

async function problemOf(response: Response): Promise<Problem> {
  const body = await response.json().catch(() => ({}));
  const wait = Number(response.headers.get('retry-after'));
  return new Problem(response.status, String(body.code ?? ''), String(body.detail ?? response.statusText), Number.isFinite(wait) ? wait : 0);
}

/** Throws Problem, Unreachable, or what `signal` was aborted with. */
export async function send(method: string, path: string, { query, body, headers = {}, signal, isStream = false }: Call = {}): Promise<Response> {
  const watch = new AbortController();
  const onAbort = () => watch.abort();
  signal?.throwIfAborted();
  signal?.addEventListener('abort', onAbort);
  const timer = setTimeout(onAbort, PATIENCE_MS);
  try {
    const response = await fetch(withQuery(path, query), {
      method,
      signal: watch.signal,
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      headers: { Accept: isStream ? 'text/event-stream' : 'application/json', ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }).catch(() => {
      signal?.throwIfAborted();
      throw new Unreachable();
    });
    if (!response.ok) throw await problemOf(response);
    return response;
  } finally {
    clearTimeout(timer);
    if (!isStream) signal?.removeEventListener('abort', onAbort);
  }
}
