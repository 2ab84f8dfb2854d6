// SPDX-License-Identifier: MIT
//
// chat: the first page: topics at the side, the thread of one of them, and the box to ask in.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { go, place } from '../router';
import { onChange, type Session } from '../session/session';
import { t } from '../texts';
import { Frame, Head } from '../ui/frame';
import { Composer, model } from './composer';
import { StatusLine } from './status_line';
import { ask, cancel, closeThread, live, onNews, openThread, refreshThread, thread } from './thread';
import { ThreadView } from './thread_view';
import { TopicList } from './topic_list';
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

function TopicHead({ topic, name }: { topic: string; name: string }) {
  return <Head title={topic && name}>{topic && <TopicMenu topic={{ id: topic, name }} />}</Head>;
}

export function Chat({ session }: { session: Session }) {
  const topic = place.value.at === 'topic' ? place.value.topic : '';
  const [editing, edit] = useState<Turn | null>(null);
  useThread(topic, session.user);
  const shown = thread.value;
  const title = topic ? (nameOf(topic) ?? t().topics.untitled) : t().topics.untitled;
  useEffect(() => edit(null), [topic]);

  const send = (text: string, replaces?: Turn) => {
    edit(null);
    const to = ask(text, model.value, replaces);
    if (topic !== to) go({ at: 'topic', topic: to });
  };
  const actions = useMemo(() => ({ onEdit: edit, onRetry: (turn: Turn) => send(turn.query, turn) }), [topic]);
  return (
    <Frame title={title} head={<TopicHead topic={topic} name={title} />} list={<TopicList />} class={shown ? '' : 'is-new'}>
      <ThreadView thread={shown} actions={actions} />
      <div class="foot">
        <StatusLine turn={live.value} />
        <Composer topic={topic} live={live.value} editing={editing} onSend={(text) => send(text, editing ?? undefined)} onStop={(turn) => void cancel(turn)} onCancelEdit={() => edit(null)} />
      </div>
    </Frame>
  );
}
