// SPDX-License-Identifier: MIT
import { useEffect, useRef, useState } from 'preact/hooks';
import { addressOf } from '../api/request';
import { go, hrefOf, place } from '../router';
import { isLast, session, signOut } from '../session/session';
import { chooseLanguage, language, languages, t, type Language } from '../texts';
import { Icon, Mark } from '../ui/icons';
import { Menu } from '../ui/menu';
import { theme, themes } from '../ui/theme';
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

function Account() {
  const words = t().account;
  const now = session.value!;
  const minutes = Math.max(1, Math.round((now.expiresAt - Date.now()) / 60_000));
  return (
    <div class="account">
      {isLast.value && <p class="note">{words.endsSoon(minutes)}</p>}
      <Menu
        name={words.menu(now.user)}
        isUp
        groups={[
          { title: words.theme, items: themes.map((one) => ({ text: words.themes[one], isChosen: theme.value === one, onChoose: () => void (theme.value = one) })) },
          { title: words.languages, items: (Object.keys(languages) as Language[]).map((one) => ({ text: languages[one], isChosen: language.value === one, onChoose: () => chooseLanguage(one) })) },
          { items: [{ text: words.handbook, href: addressOf('handbook') }, { text: words.licenses, href: addressOf('app/licenses.txt') }, { text: words.signOut, onChoose: signOut }] },
        ]}
      >
        <span class="avatar" aria-hidden="true">
          {[...now.user][0]?.toUpperCase()}
        </span>
        <bdi>{now.user}</bdi>
      </Menu>
    </div>
  );
}

interface Props {
  /** On a phone: whether it is over the rest. */
  isOpen: boolean;
  isInert: boolean;
  onClose: () => void;
}

export function SideBar({ isOpen, isInert, onClose }: Props) {
  const words = t().topics;
  const [text, setText] = useState('');
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (isOpen) first.current?.focus();
  }, [isOpen]);
  const startNew = () => {
    go({ at: 'new' });
    onClose();
  };
  return (
    <nav class={`side ${isOpen ? 'is-open' : ''}`} id="topics" aria-label={words.title} inert={isInert}>
      <div class="side-head">
        <Mark />
        <span class="name">{t().appName}</span>
        <button type="button" class="button is-quiet is-icon only-narrow" ref={first} aria-label={words.close} onClick={onClose}>
          <Icon name="close" />
        </button>
      </div>
      <button type="button" class="button is-wide new" onClick={startNew}>
        <Icon name="plus" /> {words.new}
      </button>
      <div class="search" role="search">
        <Icon name="search" />
        <input type="search" name="search" aria-label={words.search} placeholder={words.search} value={text} maxLength={80} onInput={(event) => setText(event.currentTarget.value)} />
      </div>
      <div class="list">
        <Topics text={text.trim()} onChosen={onClose} />
      </div>
      <Account />
    </nav>
  );
}
