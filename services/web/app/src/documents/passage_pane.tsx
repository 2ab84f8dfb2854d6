// SPDX-License-Identifier: MIT
//
// passage_pane: a place of a document, with what stands before and after it.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { call, onBehalf, Problem } from '../session/session';
import { t } from '../texts';
import { Pane } from '../ui/pane';

export interface PlaceInDoc {
  docId: string;
  /** Its name, and the page if it has some. */
  title: string;
  index: number;
  /** One reads the document rather than one place of it. */
  isWhole?: boolean;
}

interface Passage {
  chunkIndex: number;
  text: string;
  charStart: number;
  charEnd: number;
  page: number | null;
}

type Shown = Passage & { before: Passage[]; after: Passage[] };

const AROUND = 2;
const AROUND_MAX = 10;

/** How many letters at the end of `first` are those at the beginning of `second`. */
function overlap(first: Passage, second: Passage): number {
  const n = first.charEnd - second.charStart;
  if (n <= 0) return 0;
  return [...first.text].slice(-n).join('') === [...second.text].slice(0, n).join('') ? n : 0;
}

/** The passages without what the one in the middle, or one that is nearer to it, has too. */
function cutOverlaps({ before, after, ...place }: Shown): { before: Passage[]; place: Passage; after: Passage[] } {
  const all = [...before, place, ...after];
  const middle = before.length;
  const cut = all.map((one, i) => {
    const letters = [...one.text];
    if (i < middle) return { ...one, text: letters.slice(0, letters.length - overlap(one, all[i + 1]!)).join('') };
    return i > middle ? { ...one, text: letters.slice(overlap(all[i - 1]!, one)).join('') } : one;
  });
  return { before: cut.slice(0, middle), place: cut[middle]!, after: cut.slice(middle + 1) };
}

function Page({ passage, previous }: { passage: Passage; previous: Passage | undefined }) {
  if (passage.page === null || passage.page === previous?.page) return null;
  return <p class="page-mark">{t().documents.page(passage.page)}</p>;
}

function Text({ shown, isMarked }: { shown: Shown; isMarked: boolean }) {
  const { before, place, after } = cutOverlaps(shown);
  const mark = useRef<HTMLElement>(null);
  useLayoutEffect(() => mark.current?.scrollIntoView({ block: 'start' }), [shown.chunkIndex]);
  const neighbour = (passage: Passage, previous: Passage | undefined) => (
    <div key={passage.chunkIndex}>
      <Page passage={passage} previous={previous} />
      <p dir="auto">{passage.text}</p>
    </div>
  );
  return (
    <>
      {before.map((one, i) => neighbour(one, before[i - 1]))}
      <Page passage={place} previous={before.at(-1)} />
      <p dir="auto">{isMarked ? <mark ref={mark}>{place.text}</mark> : place.text}</p>
      {after.map((one, i) => neighbour(one, i === 0 ? place : after[i - 1]))}
    </>
  );
}

interface Props {
  place: PlaceInDoc;
  onClose: () => void;
}

export function PassagePane({ place: { docId, title, index: first, isWhole = false }, onClose }: Props) {
  const words = t().documents;
  const [index, setIndex] = useState(first);
  const [around, setAround] = useState(isWhole ? AROUND_MAX : AROUND);
  const [shown, setShown] = useState<Shown | null>(null);
  const [fault, setFault] = useState('');
  useEffect(() => {
    setIndex(first);
    setAround(isWhole ? AROUND_MAX : AROUND);
  }, [first, isWhole]);
  useEffect(() => {
    const abort = new AbortController();
    setFault('');
    call('GET', `api/docs/${docId}/chunks/${index}`, { query: { ...onBehalf(), around }, signal: abort.signal })
      .then((response) => response.json())
      .then(setShown)
      .catch((error: unknown) => {
        if (abort.signal.aborted) return;
        setFault(error instanceof Problem && error.status === 404 ? words.placeGone : t().signIn.unreachable);
      });
    return () => abort.abort();
  }, [docId, index, around]);
  const last = shown?.after.at(-1)?.chunkIndex ?? shown?.chunkIndex ?? 0;
  const from = shown?.before[0]?.chunkIndex ?? shown?.chunkIndex ?? 0;
  const canGrow = !isWhole && around < AROUND_MAX;
  // Whether there is more is not known: a side that is not full has come to its end.
  const hasEarlier = from > 0;
  const hasLater = (shown?.after.length ?? 0) === around;
  const more = () => setAround(Math.min(AROUND_MAX, around + 4));
  return (
    <Pane title={title} onClose={onClose}>
      <div class="pane-body passage" tabIndex={0}>
        {fault && <p class="fault">{fault}</p>}
        {!shown && !fault && <p class="message is-late">{t().thread.loading}</p>}
        {shown && hasEarlier && (
          <button type="button" class="button is-quiet is-small" onClick={canGrow ? more : () => setIndex(Math.max(0, from - 1))}>
            {words.earlier}
          </button>
        )}
        {shown && <Text shown={shown} isMarked={!isWhole && index === first} />}
        {shown && hasLater && (
          <button type="button" class="button is-quiet is-small" onClick={canGrow ? more : () => setIndex(last + 1)}>
            {words.later}
          </button>
        )}
      </div>
    </Pane>
  );
}
