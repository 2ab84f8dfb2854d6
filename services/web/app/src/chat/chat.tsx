// SPDX-License-Identifier: MIT
//
// chat: the first page: topics at the side, the thread of one of them, and the box to ask in.
import type { ComponentType } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { go, place } from '../router';
import { onChange, type Session } from '../session/session';
import { t } from '../texts';
import { Frame, Head } from '../ui/frame';
import { Icon } from '../ui/icons';
import { isNarrow } from '../ui/width';
import { Composer, model } from './composer';
import { askToLookUp, askToRecommend, lookUp, SelectionBar, wholeOf, type Picked } from './picking';
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

function TopicHead({ topic, name, onPassages }: { topic: string; name: string; onPassages: () => void }) {
  if (!topic) return <Head title="" />;
  return (
    <Head title={name}>
      <TopicMenu topic={{ id: topic, name }} />
      <button type="button" class="button is-quiet is-icon at-end" aria-label={t().passages.title} title={t().passages.title} onClick={onPassages}>
        <Icon name="quote" />
      </button>
    </Head>
  );
}

type PaneProps = { topic: string; added: number; onClose: () => void };

/** The pane with passages, which is loaded when it is opened first. */
function usePassages(topic: string) {
  const [Pane, setPane] = useState<ComponentType<PaneProps> | null>(null);
  const [isOpen, setOpen] = useState(false);
  const [added, setAdded] = useState(0);
  useEffect(() => setOpen(false), [topic]);
  const open = async () => {
    const { PassagesPane } = await import('../passages/passages_pane');
    setPane(() => PassagesPane);
    setOpen(true);
  };
  const find = async (picked: Picked) => {
    await lookUp(topic, picked);
    setAdded((n) => n + 1);
    await open();
  };
  return { pane: isOpen && Pane ? <Pane topic={topic} added={added} onClose={() => setOpen(false)} /> : null, open, find };
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
  const { pane, open, find } = usePassages(topic);
  const actions = useMemo(
    () => ({
      onEdit: edit,
      onRetry: (turn: Turn) => send(turn.query, turn),
      onLookUp: (turn: Turn) => askToLookUp(wholeOf(turn), find),
      onRecommend: (turn: Turn) => askToRecommend(topic, wholeOf(turn)),
    }),
    [topic],
  );
  const isCovered = pane !== null && isNarrow.value;
  return (
    <Frame title={title} head={<TopicHead topic={topic} name={title} onPassages={() => void open()} />} list={<TopicList />} class={`${shown ? '' : 'is-new'} ${pane ? 'has-pane' : ''}`}>
      <div class="contents" inert={isCovered}>
        <ThreadView thread={shown} actions={actions} />
        <div class="foot">
          <StatusLine turn={live.value} />
          <Composer topic={topic} live={live.value} editing={editing} onSend={(text) => send(text, editing ?? undefined)} onStop={(turn) => void cancel(turn)} onCancelEdit={() => edit(null)} />
        </div>
      </div>
      {shown && <SelectionBar topic={shown.topic} turns={shown.turns.value} onLookUp={find} />}
      {pane}
    </Frame>
  );
}
