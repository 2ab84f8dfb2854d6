// SPDX-License-Identifier: MIT
import { useEffect, useState } from 'preact/hooks';
import { t } from '../texts';
import { seen } from '../ui/name';
import { Table } from '../ui/table';
import { byModel, readUsage, sumOf, type AccountUsage, type Budget, type Counts } from './usage';

const SPANS_DAYS = [1, 7, 30] as const;

const numberOf = (n: number) => n.toLocaleString(document.documentElement.lang);

/** How much of a budget is used, as a bar with its numbers. */
function BudgetBar({ name, budget }: { name: string; budget: Budget }) {
  if (!budget) return null;
  const { used, max } = budget;
  return (
    <div class="budget">
      <span class="note">{name}</span>
      <meter min={0} max={max} high={max * 0.9} optimum={0} value={Math.min(used, max)} aria-label={name} />
      <span class="note">{t().operations.usedOf(numberOf(used), numberOf(max))}</span>
    </div>
  );
}

function Cells({ counts }: { counts: Counts }) {
  return (
    <>
      <td>{numberOf(counts.requests)}</td>
      <td>{numberOf(counts.prompt_tokens)}</td>
      <td>
        {numberOf(counts.completion_tokens)}
        {counts.estimated_requests > 0 && <span class="note"> {t().operations.estimated(numberOf(counts.estimated_requests))}</span>}
      </td>
    </>
  );
}

function AccountRows({ usage }: { usage: AccountUsage }) {
  const words = t().operations;
  return (
    <>
      <tr>
        <th scope="row">
          <bdi>{seen(usage.account)}</bdi>
          <BudgetBar name={words.perMinute} budget={usage.requests_per_minute} />
          <BudgetBar name={words.tokensToday} budget={usage.tokens_per_day} />
          <BudgetBar name={words.atOnce} budget={usage.max_concurrent} />
        </th>
        <Cells counts={sumOf(usage.rows)} />
      </tr>
      {byModel(usage.rows).map(({ model, counts }) => (
        <tr key={model} class="is-part">
          <td>
            <bdi>{model === null ? words.otherModels : seen(model)}</bdi>
          </td>
          <Cells counts={counts} />
        </tr>
      ))}
    </>
  );
}

export function UsageView() {
  const words = t().operations;
  const [days, setDays] = useState<number>(SPANS_DAYS[0]);
  const [usage, setUsage] = useState<AccountUsage[] | null>(null);
  const [hasFailed, setFailed] = useState(false);
  useEffect(() => {
    const abort = new AbortController();
    setUsage(null);
    setFailed(false);
    readUsage(days, abort.signal).then(setUsage, () => abort.signal.aborted || setFailed(true));
    return () => abort.abort();
  }, [days]);
  return (
    <section class="panel usage">
      <div class="panel-head">
        <label class="span">
          {words.span}{' '}
          <select class="input" name="span" value={days} onChange={(event) => setDays(Number(event.currentTarget.value))}>
            {SPANS_DAYS.map((n) => (
              <option key={n} value={n}>
                {words.daysOfUsage(n)}
              </option>
            ))}
          </select>
        </label>
      </div>
      {hasFailed && <p class="fault">{t().signIn.unreachable}</p>}
      {usage === null && !hasFailed && <p class="message is-late">{t().thread.loading}</p>}
      {usage?.length === 0 && <p class="message">{words.noUsage}</p>}
      {usage && usage.length > 0 && (
        <Table name={words.usage} heads={[words.accountAndModel, words.requests, words.tokensRead, words.tokensWritten]}>
          {usage.map((one) => (
            <AccountRows key={one.account} usage={one} />
          ))}
        </Table>
      )}
    </section>
  );
}
