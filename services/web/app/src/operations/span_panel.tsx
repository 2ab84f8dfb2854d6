// SPDX-License-Identifier: MIT
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { t } from '../texts';

interface Props<Row> {
  class?: string;
  /** How many days one may choose; the first is shown at first. */
  spans: readonly number[];
  nameOf: (days: number) => string;
  read: (days: number, signal: AbortSignal) => Promise<Row[]>;
  /** The text where there is none. */
  none: string;
  children: (rows: Row[]) => ComponentChildren;
}

/** What was recorded in the last days. `read` stays the same function. */
export function SpanPanel<Row>({ class: name = '', spans, nameOf, read, none, children }: Props<Row>) {
  const [days, setDays] = useState(spans[0]!);
  const [rows, setRows] = useState<Row[] | null>(null);
  const [hasFailed, setFailed] = useState(false);
  useEffect(() => {
    const abort = new AbortController();
    setRows(null);
    setFailed(false);
    read(days, abort.signal).then(setRows, () => abort.signal.aborted || setFailed(true));
    return () => abort.abort();
  }, [days]);
  return (
    <section class={`panel ${name}`}>
      <div class="panel-head">
        <label class="span">
          {t().operations.span}{' '}
          <select class="input" name="span" value={days} onChange={(event) => setDays(Number(event.currentTarget.value))}>
            {spans.map((n) => (
              <option key={n} value={n}>
                {nameOf(n)}
              </option>
            ))}
          </select>
        </label>
      </div>
      {hasFailed && <p class="fault">{t().signIn.unreachable}</p>}
      {rows === null && !hasFailed && <p class="message is-late">{t().thread.loading}</p>}
      {rows?.length === 0 && <p class="message">{none}</p>}
      {rows && rows.length > 0 && children(rows)}
    </section>
  );
}
