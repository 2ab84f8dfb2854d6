// SPDX-License-Identifier: MIT
//
// trace: what the agent did, step by step.
import { t } from '../texts';
import { Icon, type IconName } from '../ui/icons';
import type { TraceEntry } from './asking';

const ICONS: Record<string, IconName> = { search_docs: 'search', open_citation: 'file' };

const inputOf = (input: unknown): string => {
  const { query, citation } = (input ?? {}) as { query?: unknown; citation?: unknown };
  const what = query ?? citation ?? input;
  return typeof what === 'string' ? what : what === null || what === undefined ? '' : JSON.stringify(what);
};

function Title({ entry }: { entry: TraceEntry }) {
  const words = t().documents.trace;
  if (entry.type === 'plan') return <>{words.plan}</>;
  if (entry.type === 'final') return <>{words.final}</>;
  if (entry.type === 'error') return <>{words.error}</>;
  const title = entry.tool === 'search_docs' ? words.search : entry.tool === 'open_citation' ? words.open : words.tool(entry.tool ?? '');
  return (
    <>
      {title} <q dir="auto">{inputOf(entry.input)}</q>
    </>
  );
}

function Step({ entry }: { entry: TraceEntry }) {
  const isBad = entry.type === 'error' || entry.error !== null;
  const icon = isBad ? 'warning' : (ICONS[entry.tool ?? ''] ?? (entry.type === 'plan' ? 'menu' : 'check'));
  return (
    <li class={isBad ? 'is-bad' : ''}>
      <Icon name={icon} />
      <div>
        <p class="trace-title">
          <Title entry={entry} />
        </p>
        {entry.steps && entry.steps.length > 0 && (
          <ol dir="auto">
            {entry.steps.map((step, i) => (
              <li key={i}>{step}</li>
            ))}
          </ol>
        )}
        {[entry.notes, entry.outputSummary, entry.error].map((text, i) => text && <p class="note" dir="auto" key={i}>{text}</p>)}
      </div>
    </li>
  );
}

export function Trace({ entries, isOver }: { entries: TraceEntry[]; isOver: boolean }) {
  if (entries.length === 0) return null;
  return (
    <details class="trace" open={!isOver}>
      <summary>
        <Icon name="chevron" />
        {t().documents.trace.title(entries.length)}
      </summary>
      <ol class="trace-steps">
        {entries.map((entry, i) => (
          <Step key={i} entry={entry} />
        ))}
      </ol>
    </details>
  );
}
