// SPDX-License-Identifier: MIT
//
// frame: what all pages have around them: the side bar with the navigation, the page's own list and the account. On a phone the side bar
// is over the page while it is open.
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { addressOf } from '../api/request';
import { isLast, nameOf, session, signOut } from '../session/session';
import { chooseLanguage, language, languages, t, type Language } from '../texts';
import { Dialogs } from './dialog';
import { Icon, Mark } from './icons';
import { Menu } from './menu';
import { Navigation } from './navigation';
import { theme, themes } from './theme';
import { isNarrow } from './width';

const isSideOpen = signal(false);

export const closeSide = () => void (isSideOpen.value = false);

function Account() {
  const words = t().account;
  const now = session.value!;
  const minutes = Math.max(1, Math.round((now.expiresAt - Date.now()) / 60_000));
  return (
    <div class="account">
      {isLast.value && <p class="note">{words.endsSoon(minutes)}</p>}
      <Menu
        name={words.menu(nameOf(now))}
        isUp
        groups={[
          { title: words.theme, items: themes.map((one) => ({ text: words.themes[one], isChosen: theme.value === one, onChoose: () => void (theme.value = one) })) },
          { title: words.languages, items: (Object.keys(languages) as Language[]).map((one) => ({ text: languages[one], isChosen: language.value === one, onChoose: () => chooseLanguage(one) })) },
          { items: [{ text: words.handbook, href: addressOf('handbook') }, { text: words.licenses, href: addressOf('app/licenses.txt') }, { text: words.signOut, onChoose: signOut }] },
        ]}
      >
        <span class="avatar" aria-hidden="true">
          {[...nameOf(now)][0]?.toUpperCase()}
        </span>
        <bdi>{nameOf(now)}</bdi>
      </Menu>
    </div>
  );
}

function SideBar({ isOpen, list }: { isOpen: boolean; list: ComponentChildren }) {
  const words = t().frame;
  const first = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (isOpen) first.current?.focus();
  }, [isOpen]);
  return (
    <nav class={`side ${isOpen ? 'is-open' : ''}`} id="side" aria-label={words.side} inert={isNarrow.value && !isOpen}>
      <div class="side-head">
        <Mark />
        <span class="name">{t().appName}</span>
        <button type="button" class="button is-quiet is-icon only-narrow" ref={first} aria-label={words.close} onClick={closeSide}>
          <Icon name="close" />
        </button>
      </div>
      <Navigation role={session.value!.role} onChosen={closeSide} />
      <div class="side-list">{list}</div>
      <Account />
    </nav>
  );
}

/** The line above a page: its title, and what can be done with it. */
export function Head({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <header class="head">
      <button type="button" class="button is-quiet is-icon only-narrow" aria-label={t().frame.open} aria-expanded={isSideOpen.value} aria-controls="side" onClick={() => void (isSideOpen.value = true)}>
        <Icon name="menu" />
      </button>
      {title && (
        <h1 dir="auto" title={title}>
          {title}
        </h1>
      )}
      {children}
    </header>
  );
}

interface Props {
  /** Of the page in the browser's tab; also above the page unless that brings a head of its own. */
  title: string;
  head?: ComponentChildren;
  /** The page's own part of the side bar. */
  list: ComponentChildren;
  class?: string;
  children: ComponentChildren;
}

export function Frame({ title, head, list, class: more = '', children }: Props) {
  useEffect(() => void (document.title = `${title} · ${t().appName}`), [title]);
  const isOver = isNarrow.value && isSideOpen.value;
  return (
    <div class="frame" onKeyDown={(event) => event.key === 'Escape' && closeSide()}>
      <SideBar isOpen={isOver} list={list} />
      {isOver && <div class="shade" onClick={closeSide} />}
      <main class={more} inert={isOver}>
        {head ?? <Head title={title} />}
        {children}
      </main>
      <Dialogs />
    </div>
  );
}
