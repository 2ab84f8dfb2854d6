// SPDX-License-Identifier: MIT
//
// steps_view: the talk of a run: what was asked, what each agent has decided, and what people have answered.
import { memo } from '../markdown/memo';
import { CodeBlock } from '../markdown/markdown';
import { t } from '../texts';
import { Icon } from '../ui/icons';
import { Avatar, Name } from '../ui/name';
import { Time } from '../ui/time';
import { BodyView, hasRows, RowsTable } from './body_view';
import type { Answer } from './history';
import type { Body, Step } from './run';
import { shortOf } from './tree_view';

const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

/** What a person has changed. */
export function Changes({ before, after }: { before: Body | null; after: Body }) {
  const words = t().workflows;
  return (
    <dl class="changes">
      {Object.entries(after).map(([name, value]) => (
        <div key={name}>
          <dt dir="auto">{name}</dt>
          {before && name in before && shown(before[name]) !== shown(value) && (
            <dd class="is-before">
              <span class="hidden">{words.before}</span>
              <del dir="auto">{shown(before[name])}</del>
            </dd>
          )}
          <dd class="is-after">
            <span class="hidden">{words.after}</span>
            <ins dir="auto">{shown(value)}</ins>
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function AnswerView({ answer }: { answer: Answer }) {
  const words = t().workflows;
  const who = answer.user ?? answer.account;
  return (
    <article class={`step is-answer ${answer.approved ? 'is-yes' : 'is-no'}`}>
      {who ? <Avatar of={who} /> : <span class="avatar" aria-hidden="true" />}
      <p class="by">
        <strong>{who ? <Name of={who} /> : words.deadline}</strong>
        <span class={`verdict-of ${answer.approved ? 'is-yes' : 'is-no'}`}>{answer.corrections ? words.corrected : answer.approved ? words.approved : words.rejected}</span>
        <span class="note">
          <Time at={answer.timestamp} /> · {words.hows[answer.how]}
        </span>
      </p>
      {answer.comment && <p dir="auto">{answer.comment}</p>}
      {answer.corrections && <Changes before={answer.before} after={answer.corrections} />}
    </article>
  );
}

/** What this step has added to what the run carries, if it is worth a look. */
function newSql(step: Step, before: Step | undefined): string | undefined {
  const sql = step.messageBody.sql_query;
  return typeof sql === 'string' && sql !== before?.messageBody.sql_query ? sql : undefined;
}

interface Props {
  step: Step;
  before: Step | undefined;
}

export const StepView = memo(({ step, before }: Props) => {
  const words = t().workflows;
  const sql = newSql(step, before);
  const isResult = step.nextAgent === null && step.returnCode === 1 && hasRows(step.messageBody);
  return (
    <article class={`step is-${step.decision}`}>
      <span class="dot" aria-hidden="true">
        <Icon name={step.decision === 'yes' ? 'check' : 'close'} />
      </span>
      <p class="by">
        <strong title={step.agent}>{shortOf(step.agent)}</strong>
        <span class={`verdict-of is-${step.decision}`}>{words[step.decision]}</span>
        <span class="note">{words.confidence(Math.round(step.confidence * 100))}</span>
      </p>
      <p dir="auto" class="reason">
        {step.reason}
      </p>
      {sql && <CodeBlock source={sql} language="SQL" />}
      {isResult && <RowsTable body={step.messageBody} />}
      <details class="think">
        <summary>
          <Icon name="chevron" />
          {words.carried}
        </summary>
        <BodyView body={step.messageBody} />
      </details>
    </article>
  );
});
