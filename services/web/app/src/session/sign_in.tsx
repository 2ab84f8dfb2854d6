// SPDX-License-Identifier: MIT
//
// sign_in: the page for who is not signed in. The secret is used for one signature and then forgotten.
import { useEffect, useRef, useState } from 'preact/hooks';
import { addressOf } from '../api/request';
import type { Arrival } from '../router';
import { t } from '../texts';
import { Icon, Mark } from '../ui/icons';
import { findProvider, goToProvider } from './provider';
import { canEnter, continueAs, ending, nameOf, offers, Problem, session, signIn, signInByCode, signInByProvider, signOut } from './session';

const NAME_KEY = 'parley.name';
const TOO_MANY = 429;

/** What went wrong, and until when another try is of no use. */
interface Fault {
  text: string;
  untilMs: number;
}

/** `refused`: the text for credentials that are wrong. */
function faultOf(error: unknown, refused: string): Fault {
  const words = t().signIn;
  if (!(error instanceof Problem)) return { text: words.unreachable, untilMs: 0 };
  if (error.status === TOO_MANY) return { text: '', untilMs: Date.now() + Math.max(1, error.retryAfterS) * 1000 };
  if (error.status === 401) return { text: refused, untilMs: 0 };
  return { text: error.detail, untilMs: 0 };
}

/** The seconds until then, counted down. */
function useCountdown(untilMs: number): number {
  const [now, setNow] = useState(Date.now());
  const left = Math.ceil((untilMs - now) / 1000);
  useEffect(() => {
    setNow(Date.now());
    if (untilMs <= Date.now()) return;
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [untilMs]);
  return Math.max(0, left);
}

/** Why one sees this page, if there is a reason. */
function reason(): string | undefined {
  const words = t().signIn;
  const now = session.value;
  if (now && !canEnter(now)) return words.cannotAsk(now.user, now.role);
  return ending.value ? words[ending.value] : undefined;
}

function Offers() {
  if (offers.value.length === 0) return null;
  return (
    <div class="offers">
      {offers.value.map((offer) => (
        <button type="button" class="button is-main is-wide" key={offer.user} onClick={() => continueAs(offer)}>
          <Icon name="person" /> <bdi>{t().signIn.continueAs(nameOf(offer))}</bdi>
        </button>
      ))}
      <p class="divider">{t().signIn.other}</p>
    </div>
  );
}

function Secret({ isBad }: { isBad: boolean }) {
  const words = t().signIn;
  const [isShown, show] = useState(false);
  return (
    <div class="field">
      <label for="secret">{words.secret}</label>
      <div class="with-button">
        <input id="secret" name="secret" type={isShown ? 'text' : 'password'} required autocomplete="current-password" spellcheck={false} autocapitalize="none" aria-describedby="secret-note fault" aria-invalid={isBad} />
        <button type="button" class="button is-quiet is-icon" aria-pressed={isShown} aria-label={isShown ? words.hide : words.show} onClick={() => show(!isShown)}>
          <Icon name="eye" />
        </button>
      </div>
      <p class="note" id="secret-note">
        {words.secretNote}
      </p>
    </div>
  );
}

function Provider() {
  const words = t().signIn;
  const [name, setName] = useState<string | null>(null);
  useEffect(() => void findProvider().then(setName, () => setName(null)), []);
  if (name === null) return null;
  return (
    <div class="offers">
      <button type="button" class="button is-main is-wide" onClick={goToProvider}>
        <bdi>{words.with(name)}</bdi>
      </button>
      <p class="divider">{words.withAccount}</p>
    </div>
  );
}

export function SignIn({ arrival }: { arrival: Arrival | undefined }) {
  const words = t().signIn;
  const [fault, setFault] = useState<Fault>({ text: '', untilMs: 0 });
  const [isBusy, setBusy] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const waitS = useCountdown(fault.untilMs);

  const attempt = async (enter: Promise<void>, refused: string) => {
    setBusy(true);
    await enter.catch((error: unknown) => setFault(faultOf(error, refused)));
    setBusy(false);
  };
  const arrive = ({ by, word }: Arrival) => {
    if (by === 'code') void attempt(signInByCode(word), words.badLink);
    else if (by === 'signed-in') void attempt(signInByProvider(word), words.badReturn);
    else setFault({ text: words.notSignedIn[word as keyof typeof words.notSignedIn] ?? words.notSignedIn.failed, untilMs: 0 });
  };
  useEffect(() => {
    document.title = `${words.title} · ${t().appName}`;
    if (arrival) arrive(arrival);
    else if (ending.value) heading.current?.focus();
  }, []);

  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const name = String(data.get('name')).trim();
    localStorage.setItem(NAME_KEY, name);
    setFault({ text: '', untilMs: 0 });
    void attempt(signIn(name, String(data.get('secret'))), words.wrong);
  };
  const shown = waitS > 0 ? words.wait(waitS) : fault.text;
  const why = reason();

  return (
    <main class="sign-in">
      <div class="card">
        <Mark />
        <h1 ref={heading} tabIndex={-1}>
          {words.title}
        </h1>
        <p class="lead">{words.lead}</p>
        {why && <p class="banner">{why}</p>}
        {session.value && (
          <button type="button" class="button is-wide" onClick={signOut}>
            {t().account.signOut}
          </button>
        )}
        <Offers />
        <Provider />
        <form onSubmit={onSubmit}>
          <div class="field">
            <label for="name">{words.name}</label>
            <input id="name" name="name" required maxLength={128} autocomplete="username" autocapitalize="none" spellcheck={false} defaultValue={localStorage.getItem(NAME_KEY) ?? ''} />
          </div>
          <Secret isBad={fault.text === words.wrong} />
          <p class="fault" id="fault" role="alert">
            {shown}
          </p>
          <button type="submit" class="button is-main is-wide" disabled={isBusy || waitS > 0}>
            {isBusy ? words.busy : words.submit}
          </button>
        </form>
        <p class="foot">
          <a href={addressOf('')}>{words.home}</a>
        </p>
      </div>
    </main>
  );
}
