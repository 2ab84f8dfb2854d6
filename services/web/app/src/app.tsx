// SPDX-License-Identifier: MIT
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Chat } from './chat/chat';
import { place, type Arrival } from './router';
import { canEnter, session, type Session } from './session/session';
import { SignIn } from './session/sign_in';
import { t } from './texts';
import { Frame } from './ui/frame';
import { ASKING, nameOfPage, pages, type PageName, type PageProps } from './ui/navigation';

const loaded = new Map<PageName, ComponentType<PageProps>>();

function LazyPage({ name, ...props }: PageProps & { name: PageName }) {
  const [Loaded, setLoaded] = useState(() => loaded.get(name));
  const [hasFailed, setFailed] = useState(false);
  useEffect(() => {
    if (Loaded) return;
    let isWanted = true;
    pages[name]!.load().then(
      (component) => {
        loaded.set(name, component);
        if (isWanted) setLoaded(() => component);
      },
      () => isWanted && setFailed(true),
    );
    return () => {
      isWanted = false;
    };
  }, []);
  if (Loaded) return <Loaded {...props} />;
  return (
    <Frame title={t().pages[name]} list={null}>
      {hasFailed && (
        <p class="message">
          {t().pages.failed}{' '}
          <button type="button" class="button is-small" onClick={() => location.reload()}>
            {t().thread.again}
          </button>
        </p>
      )}
    </Frame>
  );
}

/** The page that the address names. */
function CurrentPage({ session }: { session: Session }) {
  const where = place.value;
  const name = nameOfPage(where);
  const words = where.at === 'page' ? where.words : [];
  if (name !== undefined && pages[name]!.roles.includes(session.role)) return <LazyPage key={name} name={name} session={session} words={words} />;
  return ASKING.includes(session.role) ? <Chat session={session} /> : <LazyPage name="operations" session={session} words={[]} />;
}

export function App({ arrival }: { arrival: Arrival | undefined }) {
  const now = session.value;
  return now && canEnter(now) ? <CurrentPage key={now.user} session={now} /> : <SignIn arrival={arrival} />;
}
