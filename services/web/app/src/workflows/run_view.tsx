// SPDX-License-Identifier: MIT
//
// run_view: a run: its talk, the tree beside it, and what it waits for.
import { useEffect, useRef, useState } from 'preact/hooks';
import { t } from '../texts';
import { useBottom } from '../ui/bottom';
import { Frame, Head } from '../ui/frame';
import { Icon } from '../ui/icons';
import { Name } from '../ui/name';
import { Time } from '../ui/time';
import { AnswerForm } from './answer_form';
import type { Answer } from './history';
import { openRun, type OpenRun, type Step, type Stop } from './run';
import { loadRuns, RunsList } from './runs_list';
import { AnswerView, StepView } from './steps_view';
import { TreeView } from './tree_view';
import { loadTrees, trees } from './trees';
import { WordsBox } from './words_box';

function Tree({ run }: { run: OpenRun }) {
  const steps = run.steps.value;
  const verb = steps.at(-1)?.verb ?? '';
  const tree = trees.value?.workflows[verb];
  const root = trees.value?.roots[verb];
  if (!tree || !root) return null;
  return <TreeView verb={verb} tree={tree} root={root} steps={steps} />;
}

function StopCard({ run, stop, step }: { run: OpenRun; stop: Stop; step: Step }) {
  const words = t().workflows;
  const card = useRef<HTMLElement>(null);
  useEffect(() => card.current!.scrollIntoView({ block: 'start' }), [stop.id]);
  return (
    <section class="stop" aria-label={words.waits} ref={card}>
      <h2>
        <Icon name="approve" /> {words.waits}
      </h2>
      <p class="reason" dir="auto">
        {step.reason}
      </p>
      <p class="note">
        {stop.approvers.length === 0 ? words.owner : words.others(stop.approvers.join(', '))}
        {stop.quorum > 1 && ` ${words.quorum(stop.approvals, stop.quorum)}`}
        {!stop.self && ` ${words.notSelf}`}
        {stop.deadline && (
          <>
            {' '}
            {words.until} <Time at={stop.deadline} />.
          </>
        )}
      </p>
      <AnswerForm key={stop.id} form={stop.form} body={step.messageBody} onAnswer={run.answer} />
    </section>
  );
}

/** Steps and the answers after them, in the order in which they came. */
function Talk({ run }: { run: OpenRun }) {
  const steps = run.steps.value;
  const answersOf = new Map<number, Answer[]>();
  // An answer names the step that asked by its number among all steps of the run.
  for (const answer of run.answers.value) answersOf.set(answer.step, [...(answersOf.get(answer.step) ?? []), answer]);
  return (
    <>
      {steps.map((step, i) => [<StepView key={step.seq} step={step} before={steps[i - 1]} />, ...(answersOf.get(step.seq) ?? []).map((answer) => <AnswerView key={`${answer.timestamp} ${answer.account}`} answer={answer} />)])}
    </>
  );
}

function Ending({ run }: { run: OpenRun }) {
  const words = t().workflows;
  const record = run.record.value;
  if (run.status.value !== 'ended') return null;
  const status = record && record.final_status !== 'running' && record.final_status !== 'waiting' ? record.final_status : run.steps.value.at(-1)?.returnCode === 1 ? 'done' : 'rejected';
  return <p class={`run-end is-${status}`}>{words.ends[status]}</p>;
}

function statusText(run: OpenRun): string {
  const words = t().workflows;
  if (run.isAway.value) return words.away;
  const last = run.steps.value.at(-1);
  if (run.status.value === 'running' && last?.nextAgent) return words.works(last.nextAgent);
  if (run.status.value === 'loading') return run.request ? words.begins : '';
  return '';
}

function Page({ run }: { run: OpenRun }) {
  const words = t().workflows;
  const steps = run.steps.value;
  const status = run.status.value;
  const last = steps.at(-1);
  const asked = String(steps[0]?.messageBody.raw_text ?? run.request?.text ?? '');
  const { box, content, onScroll } = useBottom([run, steps.length]);
  useEffect(() => {
    if (status !== 'loading') void loadRuns();
  }, [status]);
  const text = statusText(run);
  return (
    <>
      <div class="split">
        <div class="scroller" ref={box} onScroll={onScroll} tabIndex={0} role="log" aria-label={words.log}>
          <div class="thread run" ref={content}>
            {status === 'missing' && <p class="message">{run.refusal.value || words.missing}</p>}
            {status === 'failed' && <p class="message">{words.failed}</p>}
            {asked && (
              <div class="question">
                <div class="bubble" dir="auto">
                  {asked}
                </div>
              </div>
            )}
            <Talk run={run} />
            {status === 'waiting' && last?.hitl && <StopCard run={run} stop={last.hitl} step={last} />}
            <Ending run={run} />
            {run.refusal.value && status !== 'missing' && (
              <p class="ending is-bad" role="alert">
                {run.refusal.value}
              </p>
            )}
          </div>
        </div>
        <aside class="tree-side" aria-label={words.tree} tabIndex={0}>
          <Tree run={run} />
        </aside>
      </div>
      <div class="foot">
        <p class={`status ${run.isAway.value ? 'is-bad' : ''}`} role="status">
          {text && <span class="pulse">{text}</span>}
        </p>
        {status === 'waiting' && <WordsBox label={words.words} placeholder={words.wordsPlaceholder} note={words.wordsNote} onSend={run.say} />}
      </div>
    </>
  );
}

export function RunView({ session, id }: { session: string; id: string }) {
  const words = t().workflows;
  const [run, setRun] = useState<OpenRun | null>(null);
  useEffect(() => {
    const opened = openRun(session, id);
    setRun(opened);
    void loadTrees().catch(() => {});
    return opened.close;
  }, [session, id]);
  const first = run?.steps.value[0];
  const title = String(first?.messageBody.raw_text ?? run?.request?.text ?? words.run);
  return (
    <Frame
      title={title}
      list={<RunsList />}
      head={
        <Head title={title}>
          {first && (
            <span class="chip">
              <Name of={first.verb} />
            </span>
          )}
        </Head>
      }
    >
      {run && <Page run={run} />}
    </Frame>
  );
}
