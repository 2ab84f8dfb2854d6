// SPDX-License-Identifier: MIT
import { useEffect, useState } from 'preact/hooks';
import { go, hrefOf, place } from '../router';
import { t } from '../texts';
import { closeSide } from '../ui/frame';
import { Icon } from '../ui/icons';
import { TopicMenu } from './topic_menu';
import { findTopics, hasTopicsFailed, loadTopics, topics, type Topic } from './topics';

const TYPED_MS = 250;
const SHOWN_FIRST = 200;

/** What a search has found; null: nothing is searched for, undefined: it has not ended. */
function useFound(text: string): Topic[] | null | undefined {
  const [found, setFound] = useState<Topic[] | null | undefined>(null);
  useEffect(() => {
    const abort = new AbortController();
    if (text === '') return setFound(null);
    setFound(undefined);
    const timer = setTimeout(() => void findTopics(text, abort.signal).then(setFound, () => abort.signal.aborted || setFound([])), TYPED_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);
  return found;
}

function Entry({ topic, onChosen }: { topic: Topic; onChosen: () => void }) {
  const isCurrent = place.value.at === 'topic' && place.value.topic === topic.id;
  return (
    <li class={isCurrent ? 'is-current' : ''}>
      <a href={hrefOf({ at: 'topic', topic: topic.id })} aria-current={isCurrent ? 'page' : undefined} dir="auto" title={topic.name} onClick={onChosen}>
        {topic.name}
      </a>
      <TopicMenu topic={topic} />
    </li>
  );
}

function List({ all, onChosen }: { all: Topic[]; onChosen: () => void }) {
  const [shown, setShown] = useState(SHOWN_FIRST);
  return (
    <>
      <ul>
        {all.slice(0, shown).map((topic) => (
          <Entry key={topic.id} topic={topic} onChosen={onChosen} />
        ))}
      </ul>
      {all.length > shown && (
        <button type="button" class="button is-quiet is-wide" onClick={() => setShown(shown * 2)}>
          <Icon name="down" />
        </button>
      )}
    </>
  );
}

function Topics({ text, onChosen }: { text: string; onChosen: () => void }) {
  const words = t().topics;
  const found = useFound(text);
  if (text !== '') {
    if (found === undefined || found === null) return <p class="note">{words.searching}</p>;
    return found.length === 0 ? <p class="note">{words.noMatch}</p> : <List all={found} onChosen={onChosen} />;
  }
  if (hasTopicsFailed.value)
    return (
      <p class="note">
        {words.failed}{' '}
        <button type="button" class="button is-small" onClick={() => void loadTopics()}>
          {t().thread.again}
        </button>
      </p>
    );
  if (topics.value === null) return null;
  return topics.value.length === 0 ? <p class="note">{words.none}</p> : <List all={topics.value} onChosen={onChosen} />;
}

/** The list of topics in the side bar. */
export function TopicList() {
  const words = t().topics;
  const [text, setText] = useState('');
  const startNew = () => {
    go({ at: 'new' });
    closeSide();
  };
  return (
    <>
      <button type="button" class="button is-wide new" onClick={startNew}>
        <Icon name="plus" /> {words.new}
      </button>
      <div class="search" role="search">
        <Icon name="search" />
        <input type="search" name="search" aria-label={words.search} placeholder={words.search} value={text} maxLength={80} onInput={(event) => setText(event.currentTarget.value)} />
      </div>
      <div class="list">
        <Topics text={text.trim()} onChosen={closeSide} />
      </div>
    </>
  );
}
