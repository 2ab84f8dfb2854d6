// SPDX-License-Identifier: MIT
import { useEffect, useState } from 'preact/hooks';
import { hrefOf, pageAt } from '../router';
import { call, Problem } from '../session/session';
import { t } from '../texts';
import { seen } from '../ui/name';
import { Time } from '../ui/time';
import { readStatus, status } from './status';

const STATES = ['Open', 'Pending', 'Failed'] as const;
export type QueueState = (typeof STATES)[number];
export const isQueueState = (text: string): text is QueueState => STATES.includes(text as QueueState);

interface Query {
  Topic: string;
  Seq: number;
  User: string;
  Model: string;
  Query: string;
  Timestamp: string;
  Reason?: string;
}

interface Page {
  Queries: Query[];
  Next: string | null;
}

const keyOf = ({ Topic, Seq }: Query) => `${Seq} ${Topic}`;

async function readPage(state: QueueState, after: string | null, signal: AbortSignal): Promise<Page> {
  return (await call('GET', 'api/queue', { query: { State: state, ...(after === null ? {} : { After: after }) }, signal })).json();
}

/** The pages that were read so far, and how to read the next one. */
function useQueue(state: QueueState) {
  const [page, setPage] = useState<Page | null>(null);
  const [fault, setFault] = useState('');
  const [reads, setReads] = useState(0);
  const onFault = (error: unknown) => setFault(error instanceof Problem ? error.detail : t().signIn.unreachable);
  useEffect(() => {
    const abort = new AbortController();
    readPage(state, null, abort.signal).then(
      (first) => {
        setPage(first);
        setFault('');
      },
      (error) => abort.signal.aborted || onFault(error),
    );
    return () => abort.abort();
  }, [state, reads]);
  const more = () =>
    readPage(state, page!.Next, new AbortController().signal).then((next) => setPage({ Queries: [...page!.Queries, ...next.Queries], Next: next.Next }), onFault);
  const drop = (query: Query) => setPage((now) => now && { ...now, Queries: now.Queries.filter((one) => keyOf(one) !== keyOf(query)) });
  return { page, fault, more, drop, onFault, again: () => setReads(reads + 1) };
}

function Row({ query, onRetry }: { query: Query; onRetry: ((query: Query) => void) | undefined }) {
  const words = t().operations;
  return (
    <li class="query">
      <div>
        <p class="query-text" dir="auto">
          {query.Query}
        </p>
        <p class="note">
          <bdi>{seen(query.User)}</bdi> · <bdi>{seen(query.Model)}</bdi> · <Time at={query.Timestamp} /> · {words.number(query.Seq)} <bdi>{seen(query.Topic)}</bdi>
        </p>
        {query.Reason && (
          <p class="query-reason" dir="auto">
            {query.Reason}
          </p>
        )}
      </div>
      {onRetry && (
        <button type="button" class="button is-small" onClick={() => onRetry(query)}>
          {words.retry}
        </button>
      )}
    </li>
  );
}

function countOf(state: QueueState): number | undefined {
  const now = status.value;
  return { Open: now?.Depth, Pending: now?.InFlight, Failed: now?.Work?.FailedQuestions }[state] ?? undefined;
}

export function QueueView({ state }: { state: QueueState }) {
  const words = t().operations;
  const { page, fault, more, drop, onFault, again } = useQueue(state);
  const count = countOf(state);
  useEffect(again, [count]);
  const retry = async (query: Query) => {
    try {
      await call('POST', 'api/retry-query', { body: { Topic: query.Topic, Seq: query.Seq } });
      drop(query);
      void readStatus();
    } catch (error) {
      onFault(error);
    }
  };
  const retryAll = async () => {
    for (const query of page!.Queries) await retry(query);
  };
  return (
    <section class="panel">
      <div class="panel-head">
        <nav class="tabs" aria-label={words.queue}>
          {STATES.map((one) => (
            <a key={one} href={hrefOf(pageAt('operations', 'queue', one))} aria-current={one === state ? 'page' : undefined}>
              {words.queueStates[one]}
              {(countOf(one) ?? 0) > 0 && <span class="count">{countOf(one)}</span>}
            </a>
          ))}
        </nav>
        {state === 'Failed' && (page?.Queries.length ?? 0) > 1 && (
          <button type="button" class="button is-small" onClick={() => void retryAll()}>
            {words.retryAll}
          </button>
        )}
      </div>
      <p class="fault" role="alert">
        {fault}
      </p>
      {page?.Queries.length === 0 && page.Next === null && <p class="message">{words.empty[state]}</p>}
      <ul class="queries">
        {page?.Queries.map((query) => (
          <Row key={keyOf(query)} query={query} onRetry={state === 'Failed' ? (one) => void retry(one) : undefined} />
        ))}
      </ul>
      {page && page.Next !== null && (
        <button type="button" class="button is-quiet is-wide" onClick={() => void more()}>
          {words.more}
        </button>
      )}
    </section>
  );
}
