// SPDX-License-Identifier: MIT
//
// passages_pane: passages that match what was picked in a topic.
import { useEffect } from 'preact/hooks';
import { Problem } from '../session/session';
import { t } from '../texts';
import { CopyButton } from '../ui/copy';
import { Icon } from '../ui/icons';
import { seen } from '../ui/name';
import { Pane } from '../ui/pane';
import { fault, lookups, watchLookups, type Lookup } from './lookups';
import { readMatch } from './match';
import './passages.css';

function MatchView({ source }: { source: string }) {
  const { name, facts, text } = readMatch(source);
  return (
    <li class="match">
      <div class="match-head">
        <Icon name="file" />
        <bdi>{seen(name) || t().passages.unnamed}</bdi>
        <CopyButton text={text} name={t().passages.copy} />
      </div>
      <p class="match-text" dir="auto">
        {text}
      </p>
      {facts.length > 0 && (
        <p class="note" dir="auto">
          {facts.map(([fact, value]) => (value ? `${seen(fact)} ${seen(value)}` : seen(fact))).join(' · ')}
        </p>
      )}
    </li>
  );
}

function LookupView({ lookup: { fragment, matches } }: { lookup: Lookup }) {
  const words = t().passages;
  return (
    <section class="lookup">
      <blockquote dir="auto">{fragment}</blockquote>
      {matches === null && <p class="note pulse">{words.looking}</p>}
      {matches?.length === 0 && <p class="note">{words.noMatch}</p>}
      {matches && matches.length > 0 && (
        <ul>
          {matches.map((source, i) => (
            <MatchView key={i} source={source} />
          ))}
        </ul>
      )}
    </section>
  );
}

/** `added`: how many were added here; one more reads them again. */
export function PassagesPane({ topic, added, onClose }: { topic: string; added: number; onClose: () => void }) {
  const words = t().passages;
  useEffect(() => watchLookups(topic), [topic, added]);
  const all = lookups.value;
  const error = fault.value;
  return (
    <Pane title={words.title} onClose={onClose}>
      <div class="pane-body" tabIndex={0}>
        {error !== null && all === null && <p class="fault">{error instanceof Problem ? error.detail : t().signIn.unreachable}</p>}
        {all === null && error === null && <p class="message is-late">{t().thread.loading}</p>}
        {all?.length === 0 && <p class="message">{words.none}</p>}
        {all?.map((lookup) => (
          <LookupView key={lookup.fragment} lookup={lookup} />
        ))}
      </div>
    </Pane>
  );
}
