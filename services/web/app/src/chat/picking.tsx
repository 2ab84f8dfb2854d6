// SPDX-License-Identifier: MIT
//
// picking: a passage of a question or an answer, for which matches are looked up, or about which one recommends something. A selection in
// the thread gets a small bar; a turn's menu does the same for its answer without a selection.
import { useEffect, useState } from 'preact/hooks';
import { call, Problem, session } from '../session/session';
import { t } from '../texts';
import { askFor } from '../ui/dialog';
import { Icon } from '../ui/icons';
import { say } from '../ui/notice';
import type { Turn } from './turn';

export interface Picked {
  seq: number;
  query: string;
  fragment: string;
}

interface Selected extends Picked {
  x: number;
  y: number;
}

const FRAGMENT_MAX_BYTES = 64 << 10;
const WHOLE_MAX = 1000;
const COMMENT_MAX = 4000;
const SETTLED_MS = 150;
const BAR_PX = 52;
/** As the route names them, in the order in which they are shown. */
export const TYPES = ['Promote Answer', 'Suggest Improvement', 'Make Correction', 'Add Missing Info', 'Clarify Phrasing', 'Flag as Off Topic'] as const;

export const wholeOf = (turn: Turn): Picked => ({ seq: turn.seq.value!, query: turn.query, fragment: turn.state.value.answer.slice(0, WHOLE_MAX) });

const detailOf = (error: unknown) => (error instanceof Problem ? error.detail : t().signIn.unreachable);

function fragmentOf(data: FormData): string {
  return String(data.get('fragment') ?? '').trim();
}

function FragmentField({ value }: { value: string }) {
  return (
    <div class="field">
      <label for="fragment">{t().passages.fragment}</label>
      <textarea id="fragment" name="fragment" rows={4} required dir="auto" defaultValue={value} />
    </div>
  );
}

export async function lookUp(topic: string, { seq, fragment }: Picked): Promise<void> {
  const { addLookup } = await import('../passages/lookups');
  await addLookup(topic, seq, fragment);
}

/** Asks for the passage first. */
export function askToLookUp(picked: Picked, onAccept: (picked: Picked) => Promise<void>): void {
  const words = t().passages;
  askFor({
    title: words.find,
    text: words.findNote,
    more: <FragmentField value={picked.fragment} />,
    action: words.findAction,
    onAccept: (_value, data) => onAccept({ ...picked, fragment: fragmentOf(data) }),
  });
}

export function askToRecommend(topic: string, { query, fragment }: Picked): void {
  const words = t().passages;
  const more = (
    <>
      <fieldset class="choices">
        <legend>{words.what}</legend>
        {TYPES.map((type, i) => (
          <label key={type}>
            <input type="radio" name="type" value={type} defaultChecked={i === 0} />
            <span>
              {words.types[type].name}
              <span class="note">{words.types[type].note}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <FragmentField value={fragment} />
      <div class="field">
        <label for="comment">{words.comment}</label>
        <textarea id="comment" name="comment" rows={2} maxLength={COMMENT_MAX} dir="auto" placeholder={words.commentNote} />
      </div>
    </>
  );
  const onAccept = async (_value: string, data: FormData) => {
    const body = { Topic: topic, OnBehalfOf: session.value!.user, Query: query, Fragment: fragmentOf(data), Comment: String(data.get('comment') ?? ''), Type: String(data.get('type')) };
    await call('POST', 'api/recommend', { body });
    say(words.thanks);
  };
  askFor({ title: words.recommend, more, action: words.send, isWide: true, onAccept });
}

/** The selection, if it is in one turn that the node has. */
function readSelection(turns: Turn[]): Selected | null {
  const selection = getSelection();
  if (!selection || selection.isCollapsed || selection.rangeCount === 0) return null;
  const range = selection.getRangeAt(0);
  const around = range.commonAncestorContainer;
  const article = (around instanceof Element ? around : around.parentElement)?.closest<HTMLElement>('.turn[data-seq]');
  const turn = turns.find(({ seq }) => String(seq.value) === article?.dataset.seq);
  const fragment = selection.toString().trim();
  if (!turn || fragment === '' || new TextEncoder().encode(fragment).length > FRAGMENT_MAX_BYTES) return null;
  const { left, width, top, bottom } = range.getBoundingClientRect();
  const y = top > BAR_PX * 2 ? top - BAR_PX : Math.min(bottom + 8, innerHeight - BAR_PX);
  return { seq: turn.seq.value!, query: turn.query, fragment, x: left + width / 2, y };
}

interface Props {
  topic: string;
  turns: Turn[];
  onLookUp: (picked: Picked) => Promise<void>;
}

/** The bar at the selection. */
export function SelectionBar({ topic, turns, onLookUp }: Props) {
  const words = t().passages;
  const [selected, select] = useState<Selected | null>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onChange = () => {
      clearTimeout(timer);
      timer = setTimeout(() => select(readSelection(turns)), SETTLED_MS);
    };
    const onScroll = () => select(null);
    document.addEventListener('selectionchange', onChange);
    document.addEventListener('scroll', onScroll, true);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('selectionchange', onChange);
      document.removeEventListener('scroll', onScroll, true);
    };
  }, [turns]);
  if (!selected) return null;
  const end = () => {
    getSelection()?.removeAllRanges();
    select(null);
  };
  const onFind = () => {
    end();
    onLookUp(selected).catch((error: unknown) => say(t().unexpected(detailOf(error))));
  };
  const onRecommend = () => {
    end();
    askToRecommend(topic, selected);
  };
  return (
    <div class="selection-bar" role="toolbar" aria-label={words.bar} style={{ left: `clamp(9rem, ${selected.x}px, calc(100vw - 9rem))`, top: `${selected.y}px` }} onPointerDown={(event) => event.preventDefault()}>
      <button type="button" class="button is-quiet is-small" onClick={onFind}>
        <Icon name="quote" /> {words.findAction}
      </button>
      <button type="button" class="button is-quiet is-small" onClick={onRecommend}>
        <Icon name="star" /> {words.recommendAction}
      </button>
    </div>
  );
}
