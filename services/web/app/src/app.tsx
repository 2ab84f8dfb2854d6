// SPDX-License-Identifier: MIT
import { canAsk, session, signOut } from './session/session';
import { SignIn } from './session/sign_in';
import { t } from './texts';

/** `code`: of the link that led here, which signs in. */
export function App({ code }: { code: string | undefined }) {
  const now = session.value;
  if (!now || !canAsk(now)) return <SignIn code={code} />;
  return (
    <main class="sign-in">
      <div class="card">
        <h1>{now.user}</h1>
        <button type="button" class="button is-wide" onClick={signOut}>
          {t().account.signOut}
        </button>
      </div>
    </main>
  );
}
