// SPDX-License-Identifier: MIT
import { t } from '../texts';
import { CopyButton } from '../ui/copy';

interface Keys {
  username?: string;
  caller_key?: string;
  signing_secret?: string;
}

function Secret({ name, value }: { name: string; value: string }) {
  return (
    <div class="secret">
      <span>{name}</span>
      <code>{value}</code>
      <CopyButton text={value} name={`${t().thread.copy}: ${name}`} />
    </div>
  );
}

/** The keys of a bot, which the node shows once. `isUnneeded`: no program answers for it. */
export function SecretsCard({ secrets, isUnneeded = false }: { secrets: Keys; isUnneeded?: boolean }) {
  const words = t().rooms;
  return (
    <section class="secrets" aria-label={words.secretsTitle(secrets.username ?? '')}>
      <p>
        <strong>{words.secretsTitle(secrets.username ?? '')}</strong> {isUnneeded ? words.secretsUnneeded : words.secretsNote}
      </p>
      {secrets.caller_key && <Secret name={words.callerKey} value={secrets.caller_key} />}
      {secrets.signing_secret && <Secret name={words.signingSecret} value={secrets.signing_secret} />}
    </section>
  );
}
