// SPDX-License-Identifier: MIT
import { t } from '../texts';
import { seen } from '../ui/name';
import { Table } from '../ui/table';
import { SpanPanel } from './span_panel';
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
  return (
    <SpanPanel class="usage" spans={SPANS_DAYS} nameOf={words.daysOfUsage} read={readUsage} none={words.noUsage}>
      {(usage) => (
        <Table name={words.usage} heads={[words.accountAndModel, words.requests, words.tokensRead, words.tokensWritten]}>
          {usage.map((one) => (
            <AccountRows key={one.account} usage={one} />
          ))}
        </Table>
      )}
    </SpanPanel>
  );
}
