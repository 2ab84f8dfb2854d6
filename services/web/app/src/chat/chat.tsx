// SPDX-License-Identifier: MIT
//
// chat: the page of who is signed in: topics at the side, the thread of one of them, and the box to ask in.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { go, place } from '../router';
import { onChange, type Session } from '../session/session';
import { t } from '../texts';
import { Dialogs } from '../ui/dialog';
import { Icon } from '../ui/icons';
import { isNarrow } from '../ui/width';
import { Composer, model } from './composer';
import { SideBar } from './side_bar';
import { StatusLine } from './status_line';
import { ask, cancel, closeThread, live, onNews, openThread, refreshThread, thread } from './thread';
import { ThreadView } from './thread_view';
import { TopicMenu } from './topic_menu';
import { loadTopics, nameOf, topics } from './topics';
import type { Turn } from './turn';

/** Opens what the address names, and reads it again when something may have changed. */
function useThread(topic: string, user: string): void {
  useEffect(() => {
    topics.value = null;
    void loadTopics();
    const onSight = () => document.hidden || refreshThread();
    const endNews = onChange(onNews);
    document.addEventListener('visibilitychange', onSight);
    return () => {
      endNews();
      document.removeEventListener('visibilitychange', onSight);
      closeThread();
    };
  }, [user]);
  useEffect(() => (topic ? openThread(topic) : closeThread()), [topic, user]);
}

function Head({ topic, isSideOpen, onOpen }: { topic: string; isSideOpen: boolean; onOpen: () => void }) {
  const name = nameOf(topic) ?? t().topics.untitled;
  return (
    <header class="head">
      <button type="button" class="button is-quiet is-icon only-narrow" aria-label={t().topics.open} aria-expanded={isSideOpen} aria-controls="topics" onClick={onOpen}>
        <Icon name="menu" />
      </button>
      {topic && (
        <h1 dir="auto" title={name}>
          {name}
        </h1>
      )}
      {topic && <TopicMenu topic={{ id: topic, name }} />}
    </header>
  );
}

export function Chat({ session }: { session: Session }) {
  const topic = place.value.at === 'topic' ? place.value.topic : '';
  const [isSideOpen, openSide] = useState(false);
  const [editing, edit] = useState<Turn | null>(null);
  useThread(topic, session.user);
  const shown = thread.value;
  const title = topic ? (nameOf(topic) ?? t().topics.untitled) : t().topics.untitled;
  useEffect(() => void (document.title = `${title} · ${t().appName}`), [title]);
  useEffect(() => edit(null), [topic]);

  const send = (text: string, replaces?: Turn) => {
    edit(null);
    const to = ask(text, model.value, replaces);
    if (topic !== to) go({ at: 'topic', topic: to });
  };
  const actions = useMemo(() => ({ onEdit: edit, onRetry: (turn: Turn) => send(turn.query, turn) }), [topic]);
  const isOver = isNarrow.value && isSideOpen;
  const closeSide = () => openSide(false);
  return (
    <div class="chat" onKeyDown={(event) => event.key === 'Escape' && closeSide()}>
      <SideBar isOpen={isOver} isInert={isNarrow.value && !isSideOpen} onClose={closeSide} />
      {isOver && <div class="shade" onClick={closeSide} />}
      <main class={shown ? '' : 'is-new'} inert={isOver}>
        <Head topic={topic} isSideOpen={isSideOpen} onOpen={() => openSide(true)} />
        <ThreadView thread={shown} actions={actions} />
        <div class="foot">
          <StatusLine turn={live.value} />
          <Composer topic={topic} live={live.value} editing={editing} onSend={(text) => send(text, editing ?? undefined)} onStop={(turn) => void cancel(turn)} onCancelEdit={() => edit(null)} />
        </div>
      </main>
      <Dialogs />
    </div>
  );
}
