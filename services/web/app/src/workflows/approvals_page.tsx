// SPDX-License-Identifier: MIT
//
// approvals_page: the questions of workflows that wait for the account, and one of them with its form.
import { useEffect, useState } from 'preact/hooks';
import '../style/workflows.css';
import { go, hrefOf, pageAt } from '../router';
import { Problem } from '../session/session';
import { t } from '../texts';
import { closeSide, Frame, Head } from '../ui/frame';
import { Icon, type IconName } from '../ui/icons';
import type { PageProps } from '../ui/navigation';
import { Time } from '../ui/time';
import { AnswerForm } from './answer_form';
import { BodyView } from './body_view';
import { readQuestion, readQuestions, type Question } from './history';
import { answerQuestion, type Body } from './run';
import { shortOf } from './tree_view';

const ANSWERED = 'answered';

const detailOf = (error: unknown) => t().unexpected(error instanceof Problem ? error.detail : t().signIn.unreachable);

function Links({ at }: { at: string }) {
  const words = t().workflows;
  const link = (icon: IconName, text: string, ...rest: string[]) => (
    <li class={at === (rest[0] ?? '') ? 'is-current' : ''}>
      <a href={hrefOf(pageAt('approvals', ...rest))} aria-current={at === (rest[0] ?? '') ? 'page' : undefined} onClick={closeSide}>
        <Icon name={icon} /> {text}
      </a>
    </li>
  );
  return (
    <ul class="pages">
      {link('approve', words.waiting)}
      {link('check', words.answered, ANSWERED)}
    </ul>
  );
}

function Row({ question }: { question: Question }) {
  const words = t().workflows;
  const text = question.messageBody.raw_text;
  return (
    <li class="row">
      <i class={`state is-${question.status === 'open' ? 'waiting' : question.status}`} aria-hidden="true" />
      <a class="row-text" href={hrefOf(pageAt('approvals', question.id))}>
        <strong dir="auto">{typeof text === 'string' ? text : question.reason}</strong>
        <span class="note" dir="auto">
          {question.verb} · {shortOf(question.agent)} · {words.questionStates[question.status]} · <Time at={question.answered ?? question.asked} />
          {question.deadline && question.status === 'open' && (
            <>
              {' '}
              · {words.until} <Time at={question.deadline} />
            </>
          )}
        </span>
        <span class="is-cut" dir="auto">
          {question.reason}
        </span>
      </a>
    </li>
  );
}

function Inbox({ status }: { status: 'open' | 'answered' }) {
  const words = t().workflows;
  const [all, setAll] = useState<Question[] | null>(null);
  const [next, setNext] = useState('');
  const [fault, setFault] = useState('');
  const load = async (after = '') => {
    try {
      const page = await readQuestions(status, after);
      setAll((before) => (after ? [...(before ?? []), ...page.items] : page.items));
      setNext(page.next);
      setFault('');
    } catch (error) {
      setFault(detailOf(error));
    }
  };
  useEffect(() => {
    void load();
    const onSight = () => document.hidden || void load();
    document.addEventListener('visibilitychange', onSight);
    return () => document.removeEventListener('visibilitychange', onSight);
  }, [status]);
  return (
    <Frame
      title={t().pages.approvals}
      list={<Links at={status === 'open' ? '' : ANSWERED} />}
      head={
        <Head title={status === 'open' ? words.waiting : words.answered}>
          <span class="gap" />
          <button type="button" class="button is-quiet is-icon" aria-label={words.refresh} title={words.refresh} onClick={() => void load()}>
            <Icon name="retry" />
          </button>
        </Head>
      }
    >
      <div class="scroller">
        <div class="sheet">
          {fault && (
            <p class="fault" role="alert">
              {fault}
            </p>
          )}
          {all?.length === 0 && (
            <div class="welcome">
              <h2>{status === 'open' ? words.nothingWaits : words.nothingAnswered}</h2>
              <p>{words.waitNote}</p>
            </div>
          )}
          {all && all.length > 0 && (
            <ul class="rows">
              {all.map((question) => (
                <Row key={question.id} question={question} />
              ))}
            </ul>
          )}
          {next && (
            <button type="button" class="button is-quiet is-wide" onClick={() => void load(next)}>
              {words.moreQuestions}
            </button>
          )}
        </div>
      </div>
    </Frame>
  );
}

function Facts({ question }: { question: Question }) {
  const words = t().workflows;
  return (
    <p class="note">
      <span class="chip">{question.verb}</span> {words.stoppedAt(question.agent)} · <Time at={question.asked} />
      {question.deadline && (
        <>
          {' '}
          · {words.until} <Time at={question.deadline} />
        </>
      )}
      {question.quorum > 1 && ` · ${words.quorum(question.approvals, question.quorum)}`}
    </p>
  );
}

function QuestionView({ id }: { id: string }) {
  const words = t().workflows;
  const [question, setQuestion] = useState<Question | null | undefined>(undefined);
  const [fault, setFault] = useState('');
  const [done, setDone] = useState('');
  const load = () => readQuestion(id).then(setQuestion, (error: unknown) => setFault(detailOf(error)));
  useEffect(() => void load(), [id]);
  const onAnswer = async (answer: { approved: boolean; corrections: Body | null; comment: string | null }) => {
    const { status, approvals, quorum } = await answerQuestion(id, answer);
    setDone(status === 'open' ? words.counted(approvals!, quorum!) : answer.approved ? words.youApproved : words.youRejected);
    await load();
  };
  const text = question?.messageBody.raw_text;
  const title = typeof text === 'string' ? text : (question?.agent ?? t().pages.approvals);
  return (
    <Frame
      title={title}
      list={<Links at="-" />}
      head={
        <Head title={title}>
          <span class="gap" />
          <button type="button" class="button is-small" onClick={() => go(pageAt('approvals'))}>
            {words.back}
          </button>
        </Head>
      }
    >
      <div class="scroller">
        <div class="sheet">
          {fault && (
            <p class="fault" role="alert">
              {fault}
            </p>
          )}
          {question === null && <p class="message">{words.noQuestion}</p>}
          {done && (
            <p class="banner" role="status">
              {done}
            </p>
          )}
          {question && (
            <>
              <Facts question={question} />
              <p class="reason is-large" dir="auto">
                {question.reason}
              </p>
              {question.status !== 'open' && !done && <p class={`run-end is-${question.status}`}>{words.questionStates[question.status]}</p>}
              {question.status === 'open' && !done && <AnswerForm form={question.form} body={question.messageBody} onAnswer={onAnswer} />}
              <h2>{words.about}</h2>
              <BodyView body={question.messageBody} />
            </>
          )}
        </div>
      </div>
    </Frame>
  );
}

export function ApprovalsPage({ words }: PageProps) {
  const [what = ''] = words;
  if (what === '' || what === ANSWERED) return <Inbox key={what} status={what === '' ? 'open' : 'answered'} />;
  return <QuestionView key={what} id={what} />;
}
