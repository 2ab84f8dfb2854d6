// SPDX-License-Identifier: MIT
import { Chat } from './chat/chat';
import { canAsk, session } from './session/session';
import { SignIn } from './session/sign_in';

/** `code`: of the link that led here, which signs in. */
export function App({ code }: { code: string | undefined }) {
  const now = session.value;
  return now && canAsk(now) ? <Chat key={now.user} session={now} /> : <SignIn code={code} />;
}
