// SPDX-License-Identifier: MIT
//
// status_line: the one line that says what happens now, and the only part of the chat that a screen reader announces by itself.
import { useEffect, useRef, useState } from 'preact/hooks';
import { t } from '../texts';
import { notice } from '../ui/notice';
import { hasEnded, type Turn, type TurnState } from './turn';

const DONE_SHOWN_MS = 4000;

export function textOf(state: TurnState): string {
  const words = t().status;
  if (state.refusal) return words.refused(state.refusal.detail, Math.max(1, Math.ceil((state.refusal.untilMs - Date.now()) / 1000)));
  if (state.isAway) return words.away;
  if (state.status === 'Sending') return words.sending;
  if (state.status === 'Open') {
    if (state.position === null) return words.queued;
    return [words.position(state.position), state.etaS === null ? '' : words.eta(state.etaS)].filter(Boolean).join(', ');
  }
  if (state.answer) return words.answering;
  return state.hasRestarted ? words.restarted : words.thinking;
}

/** `turn`: the one that has no answer yet. */
export function StatusLine({ turn }: { turn: Turn | undefined }) {
  const before = useRef<Turn | undefined>(undefined);
  const [isDone, setDone] = useState(false);
  useEffect(() => {
    const ended = before.current;
    before.current = turn;
    setDone(!turn && ended?.state.value.status === 'Done');
    if (turn) return;
    const timer = setTimeout(() => setDone(false), DONE_SHOWN_MS);
    return () => clearTimeout(timer);
  }, [turn]);
  const state = turn?.state.value;
  const isLive = state !== undefined && !hasEnded(state.status);
  return (
    <p class={`status ${state?.isAway || state?.refusal ? 'is-bad' : ''}`} role="status">
      {isLive ? <span class="pulse">{textOf(state)}</span> : notice.value || (isDone ? t().status.done : '')}
    </p>
  );
}
