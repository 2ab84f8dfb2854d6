// SPDX-License-Identifier: MIT
//
// thread_view: the questions and answers, the latest at the bottom. It keeps to the bottom while text comes, unless one has scrolled up.
import { useState } from 'preact/hooks';
import { t } from '../texts';
import { useBottom } from '../ui/bottom';
import { Earlier } from '../ui/earlier';
import { Icon } from '../ui/icons';
import { reopenThread, type Thread } from './thread';
import { TurnView, type TurnActions } from './turn_view';

/** How many turns are drawn at first, which takes long where no Markdown was drawn before, and how many more at a time when one scrolls up to them. */
const FIRST = 4;
const PAGE = 10;

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

export function ThreadView({ thread, actions }: { thread: Thread | null; actions: TurnActions }) {
  const turns = thread?.turns.value ?? [];
  const [shown, setShown] = useState({ of: thread, n: FIRST });
  const n = shown.of === thread ? shown.n : FIRST;
  const from = Math.max(0, turns.length - n);
  const { box, content, isAway, toBottom, onScroll } = useBottom([thread, turns.length]);
  return (
    <>
      <div class="scroller" ref={box} onScroll={onScroll} tabIndex={0} role="log" aria-live="off" aria-label={t().thread.label}>
        <div class="thread" ref={content}>
          {!thread && <Welcome />}
          {thread && turns.length === 0 && <Message thread={thread} />}
          {from > 0 && <Earlier text={t().thread.earlier} onSeen={() => setShown({ of: thread, n: n + PAGE })} />}
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
