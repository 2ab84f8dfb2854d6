// SPDX-License-Identifier: MIT
//
// sign_in: the page for who is not signed in. The secret is used for one signature and then forgotten.
import { useEffect, useRef, useState } from 'preact/hooks';
import { addressOf } from '../api/request';
import { t } from '../texts';
import { Icon, Mark } from '../ui/icons';
import { canEnter, continueAs, ending, offers, Problem, session, signIn, signInByCode, signOut } from './session';

const NAME_KEY = 'parley.name';
const TOO_MANY = 429;

/** What went wrong, and until when another try is of no use. */
interface Fault {
  text: string;
  untilMs: number;
}

function faultOf(error: unknown, isLink: boolean): Fault {
  const words = t().signIn;
  if (!(error instanceof Problem)) return { text: words.unreachable, untilMs: 0 };
  if (error.status === TOO_MANY) return { text: '', untilMs: Date.now() + Math.max(1, error.retryAfterS) * 1000 };
  if (error.status === 401) return { text: isLink ? words.badLink : words.wrong, untilMs: 0 };
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
          <Icon name="person" /> <bdi>{t().signIn.continueAs(offer.user)}</bdi>
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

export function SignIn({ code }: { code: string | undefined }) {
  const words = t().signIn;
  const [fault, setFault] = useState<Fault>({ text: '', untilMs: 0 });
  const [isBusy, setBusy] = useState(false);
  const heading = useRef<HTMLHeadingElement>(null);
  const waitS = useCountdown(fault.untilMs);

  const attempt = async (enter: Promise<void>, isLink: boolean) => {
    setBusy(true);
    await enter.catch((error: unknown) => setFault(faultOf(error, isLink)));
    setBusy(false);
  };
  useEffect(() => {
    document.title = `${words.title} · ${t().appName}`;
    if (code !== undefined) void attempt(signInByCode(code), true);
    else if (ending.value) heading.current?.focus();
  }, []);

  const onSubmit = (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const name = String(data.get('name')).trim();
    localStorage.setItem(NAME_KEY, name);
    setFault({ text: '', untilMs: 0 });
    void attempt(signIn(name, String(data.get('secret'))), false);
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
