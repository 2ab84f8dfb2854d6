// SPDX-License-Identifier: MIT
//
// pause: waiting before another try, and for no longer than needed.
const FIRST_MS = 400;
const LONGEST_MS = 10_000;

/** Longer after each failure, up to ten seconds, and never the same for all tabs of a node that restarts. */
export const backoffMs = (failures: number) => Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 10)) * (0.7 + Math.random() * 0.6);

/** Resolves after that time, earlier when the network is back or the page is looked at again, and at once when `signal` is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const onSight = () => document.hidden || end();
    const timer = setTimeout(end, ms);
    function end(): void {
      clearTimeout(timer);
      removeEventListener('online', end);
      document.removeEventListener('visibilitychange', onSight);
      signal.removeEventListener('abort', end);
      resolve();
    }
    addEventListener('online', end);
    document.addEventListener('visibilitychange', onSight);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
