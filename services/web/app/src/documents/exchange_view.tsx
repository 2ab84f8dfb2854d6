// SPDX-License-Identifier: MIT
//
// exchange_view: a question about documents, its answer, and the places that it names.
import { createContext } from 'preact';
import { useContext, useMemo } from 'preact/hooks';
import { Ending, Think, Waiting } from '../chat/turn_view';
import { hasEnded } from '../chat/turn';
import { Markdown, type DrawText } from '../markdown/markdown';
import { t } from '../texts';
import { CopyButton } from '../ui/copy';
import { Icon } from '../ui/icons';
import { seen } from '../ui/name';
import { askAgain, type Citation, type Exchange } from './asking';
import type { PlaceInDoc } from './passage_pane';
import { Trace } from './trace';

type Open = (citation: Citation) => void;
interface Marks {
  citations: Citation[];
  onOpen: Open;
}

const MARK = /\[(\d{1,2})\]/;
const Marks = createContext<Marks>({ citations: [], onOpen: () => {} });

const placeOf = ({ documentTitle, page }: Citation) => [seen(documentTitle), page === null ? '' : t().documents.page(page)].filter(Boolean).join(', ');

function Mark({ number }: { number: number }) {
  const { citations, onOpen } = useContext(Marks);
  const citation = citations[number - 1];
  if (!citation) return <>[{number}]</>;
  return (
    <button type="button" class="cite" aria-label={t().documents.citation(number, placeOf(citation))} title={placeOf(citation)} onClick={() => onOpen(citation)}>
      {number}
    </button>
  );
}

const drawMarks: DrawText = (text) => (MARK.test(text) ? text.split(MARK).map((part, i) => (i % 2 === 1 ? <Mark key={i} number={Number(part)} /> : part)) : text);

interface Numbered {
  number: number;
  citation: Citation;
}

const numbered = (citations: Citation[]): Numbered[] => citations.map((citation, i) => ({ number: i + 1, citation }));

function Sources({ all, onOpen }: { all: Numbered[]; onOpen: Open }) {
  return (
    <ol class="sources">
      {all.map(({ number, citation }) => (
        <li key={number}>
          <button type="button" onClick={() => onOpen(citation)}>
            <span class="cite" aria-hidden="true">
              {number}
            </span>
            <span class="source-text">
              <bdi class="source-name">{seen(citation.documentTitle)}</bdi>
              {citation.page !== null && <span class="note"> {t().documents.page(citation.page)}</span>}
              <span class="source-snippet" dir="auto">
                {citation.snippet}
              </span>
            </span>
          </button>
        </li>
      ))}
    </ol>
  );
}

function Folded({ title, all, onOpen }: { title: string; all: Numbered[]; onOpen: Open }) {
  if (all.length === 0) return null;
  return (
    <details class="places">
      <summary>
        <Icon name="chevron" />
        {title}
      </summary>
      <Sources all={all} onOpen={onOpen} />
    </details>
  );
}

/** The places that the answer names, and folded those that it does not; all that were found while it is written. */
function Places({ of, onOpen }: { of: Exchange; onOpen: Open }) {
  const words = t().documents;
  const { citations, nearest } = of.found.value;
  const { status, answer } = of.turn.state.value;
  const all = numbered(citations);
  const named = status === 'Done' ? all.filter(({ number }) => answer.includes(`[${number}]`)) : all;
  const others = all.filter((one) => !named.includes(one));
  return (
    <>
      {named.length > 0 && (
        <section class="places" aria-label={words.sources}>
          <h3>{status === 'Done' ? words.sources : words.reading}</h3>
          <Sources all={named} onOpen={onOpen} />
        </section>
      )}
      <Folded title={words.others(others.length)} all={others} onOpen={onOpen} />
      <Folded title={words.nearest} all={numbered(nearest)} onOpen={onOpen} />
    </>
  );
}

export function ExchangeView({ of, number, onOpen }: { of: Exchange; number: number; onOpen: (place: PlaceInDoc) => void }) {
  const state = of.turn.state.value;
  const { citations, trace } = of.found.value;
  const isOver = hasEnded(state.status);
  const marks = useMemo(() => ({ citations, onOpen: (citation: Citation) => onOpen({ docId: citation.docId, index: citation.chunkIndex, title: placeOf(citation) }) }), [citations, onOpen]);
  return (
    <article class="turn" aria-label={t().thread.question(number)}>
      <h2 class="hidden">{t().thread.question(number)}</h2>
      <div class="question">
        <div class="bubble" dir="auto">
          {of.turn.query}
        </div>
      </div>
      <div class={`answer ${isOver ? '' : 'is-live'}`}>
        <Trace entries={trace} isOver={isOver} />
        {state.think && <Think state={state} />}
        <Marks.Provider value={marks}>{state.answer && <Markdown source={state.answer} drawText={drawMarks} />}</Marks.Provider>
        {!isOver && !state.answer && <Waiting />}
        {isOver && <Ending state={state} />}
        <Places of={of} onOpen={marks.onOpen} />
        {isOver && (
          <div class="turn-bar">
            {state.answer && <CopyButton text={state.answer} name={t().thread.copyAnswer} />}
            <button type="button" class={`button is-small ${state.status === 'Done' ? 'is-quiet' : ''}`} onClick={() => askAgain(of)}>
              <Icon name="retry" /> {t().thread.retry}
            </button>
            {state.model && state.model !== 'default' && <span class="note">{t().thread.answeredBy(state.model)}</span>}
          </div>
        )}
      </div>
    </article>
  );
}
