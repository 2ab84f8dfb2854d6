// SPDX-License-Identifier: MIT
//
// thread_view: the questions and answers, the latest at the bottom. It keeps to the bottom while text comes, unless one has scrolled up.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { t } from '../texts';
import { Icon } from '../ui/icons';
import { reopenThread, type Thread } from './thread';
import { TurnView, type TurnActions } from './turn_view';

/** How many turns are drawn at first, and how many more when one scrolls up to them. */
const PAGE = 30;
const NEAR_PX = 80;

function Welcome() {
  return (
    <div class="welcome">
      <h1>{t().thread.welcome}</h1>
      <p>{t().thread.welcomeNote}</p>
    </div>
  );
}

function Message({ thread }: { thread: Thread }) {
  const status = thread.status.value;
  if (status === 'loading') return <p class="message is-late">{t().thread.loading}</p>;
  if (status === 'missing') return <p class="message">{t().topics.missing}</p>;
  if (status !== 'failed') return null;
  return (
    <p class="message">
      {t().thread.failed}{' '}
      <button type="button" class="button is-small" onClick={reopenThread}>
        {t().thread.again}
      </button>
    </p>
  );
}

/** Draws more of the turns above when they are nearly in sight. */
function Earlier({ onSeen }: { onSeen: () => void }) {
  const mark = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const watcher = new IntersectionObserver((entries) => entries.some((one) => one.isIntersecting) && onSeen(), { rootMargin: '400px' });
    watcher.observe(mark.current!);
    return () => watcher.disconnect();
  });
  return (
    <button type="button" class="button is-quiet is-wide" ref={mark} onClick={onSeen}>
      {t().thread.earlier}
    </button>
  );
}

function useBottom(thread: Thread | null) {
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const isKept = useRef(true);
  const [isAway, setAway] = useState(false);
  const toBottom = () => {
    isKept.current = true;
    setAway(false);
    box.current!.scrollTop = box.current!.scrollHeight;
  };
  const onScroll = () => {
    const { scrollTop, scrollHeight, clientHeight } = box.current!;
    isKept.current = scrollHeight - scrollTop - clientHeight < NEAR_PX;
    setAway(!isKept.current);
  };
  useLayoutEffect(toBottom, [thread, thread?.turns.value.length]);
  useEffect(() => {
    const watcher = new ResizeObserver(() => isKept.current && toBottom());
    watcher.observe(content.current!);
    watcher.observe(box.current!);
    return () => watcher.disconnect();
  }, []);
  return { box, content, isAway, toBottom, onScroll };
}

export function ThreadView({ thread, actions }: { thread: Thread | null; actions: TurnActions }) {
  const turns = thread?.turns.value ?? [];
  const [shown, setShown] = useState({ of: thread, n: PAGE });
  const n = shown.of === thread ? shown.n : PAGE;
  const from = Math.max(0, turns.length - n);
  const { box, content, isAway, toBottom, onScroll } = useBottom(thread);
  return (
    <>
      <div class="scroller" ref={box} onScroll={onScroll} tabIndex={0} role="log" aria-live="off" aria-label={t().thread.label}>
        <div class="thread" ref={content}>
          {!thread && <Welcome />}
          {thread && turns.length === 0 && <Message thread={thread} />}
          {from > 0 && <Earlier onSeen={() => setShown({ of: thread, n: n + PAGE })} />}
          {turns.slice(from).map((turn, i) => (
            <TurnView key={turn.key} turn={turn} number={from + i + 1} actions={actions} />
          ))}
        </div>
      </div>
      {isAway && (
        <button type="button" class="button is-icon is-round to-latest" aria-label={t().thread.latest} onClick={toBottom}>
          <Icon name="down" />
        </button>
      )}
    </>
  );
}
