// SPDX-License-Identifier: MIT
import { call } from '../session/session';
import { t } from '../texts';
import { seen } from '../ui/name';
import { Table } from '../ui/table';
import { Time } from '../ui/time';
import { SpanPanel } from './span_panel';

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
  return (
    <SpanPanel spans={SPANS_DAYS} nameOf={words.days} read={readEvents} none={words.noEvents}>
      {(events) => (
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
    </SpanPanel>
  );
}
