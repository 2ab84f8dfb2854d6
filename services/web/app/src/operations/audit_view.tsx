// SPDX-License-Identifier: MIT
import { useEffect, useState } from 'preact/hooks';
import { call } from '../session/session';
import { t } from '../texts';
import { seen } from '../ui/name';
import { Table } from '../ui/table';
import { Time } from '../ui/time';

interface Event {
  Id: string;
  Timestamp: string;
  Class: 'account' | 'operator' | 'deletion' | 'refused';
  Event: string;
  Account?: string;
  Address?: string;
  [detail: string]: unknown;
}

interface Page {
  Events: Event[];
  Next: string | null;
}

const DAY_MS = 86_400_000;
const SPANS_DAYS = [1, 7, 90] as const;
const PAGE = 250;
const SHOWN_MAX = 2000;
/** What has a place of its own, or says nothing to a person. */
const OWN = new Set(['Id', 'Timestamp', 'Class', 'Event', 'Account', 'Address', 'Request', 'Node', 'Path', 'Status']);

const since = (days: number) => `${new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 19)}Z`;

/** The newest first. The node has them the other way around. */
async function readEvents(days: number, signal: AbortSignal): Promise<Event[]> {
  const all: Event[] = [];
  for (let after: string | null = ''; after !== null; ) {
    const query: Record<string, string | number> = { Limit: PAGE, ...(after === '' ? { Since: since(days) } : { After: after }) };
    const page = (await (await call('GET', 'api/audit', { query, signal })).json()) as Page;
    all.push(...page.Events);
    after = page.Next;
  }
  return all.slice(-SHOWN_MAX).reverse();
}

function Details({ event }: { event: Event }) {
  const details = Object.entries(event).filter(([name]) => !OWN.has(name));
  return <>{details.map(([name, value]) => `${name} ${seen(String(value))}`).join(', ')}</>;
}

export function AuditView() {
  const words = t().operations;
  const [days, setDays] = useState<number>(SPANS_DAYS[0]);
  const [events, setEvents] = useState<Event[] | null>(null);
  const [hasFailed, setFailed] = useState(false);
  useEffect(() => {
    const abort = new AbortController();
    setEvents(null);
    setFailed(false);
    readEvents(days, abort.signal).then(setEvents, () => abort.signal.aborted || setFailed(true));
    return () => abort.abort();
  }, [days]);
  return (
    <section class="panel">
      <div class="panel-head">
        <label class="span">
          {words.span}{' '}
          <select class="input" name="span" value={days} onChange={(event) => setDays(Number(event.currentTarget.value))}>
            {SPANS_DAYS.map((n) => (
              <option key={n} value={n}>
                {words.days(n)}
              </option>
            ))}
          </select>
        </label>
      </div>
      {hasFailed && <p class="fault">{t().signIn.unreachable}</p>}
      {events === null && !hasFailed && <p class="message is-late">{t().thread.loading}</p>}
      {events?.length === 0 && <p class="message">{words.noEvents}</p>}
      {events && events.length > 0 && (
        <Table name={words.audit} heads={[words.when, words.what, words.account, words.client, words.details]}>
          {events.map((event) => (
            <tr key={event.Id}>
              <td>
                <Time at={event.Timestamp} />
              </td>
              <th scope="row">
                <span class={`pill is-${event.Class}`}>{event.Event.replaceAll('_', ' ')}</span>
              </th>
              <td>
                <bdi>{seen(event.Account ?? '')}</bdi>
              </td>
              <td>
                <bdi>{seen(event.Address ?? '')}</bdi>
              </td>
              <td dir="auto">
                <Details event={event} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  );
}
