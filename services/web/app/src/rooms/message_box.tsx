// SPDX-License-Identifier: MIT
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { draftOf, keepDraft } from '../chat/outbox';
import { t } from '../texts';
import { isSending, useGrowing } from '../ui/growing';
import { Icon } from '../ui/icons';
import { seen } from '../ui/name';
import { Choices, complete, optionId, type Choice } from './completion';
import type { Message } from './message';

const TEXT_MAX_BYTES = 64 << 10;
const LIST_ID = 'choices';

interface Props {
  room: string;
  names: Choice[];
  replyTo: Message | null;
  onSend: (text: string) => void;
  onCancelReply: () => void;
}

/** The box to write a message in, with completion of names and commands. */
export function MessageBox({ room, names, replyTo, onSend, onCancelReply }: Props) {
  const words = t().rooms;
  const draft = `room ${room}`;
  const [text, setText] = useState(draftOf(draft));
  const field = useGrowing(text);
  const [caret, setCaret] = useState(0);
  const [at, setAt] = useState(0);
  const [isClosed, setClosed] = useState(false);
  /** Where the caret goes after a choice. */
  const chosen = useRef<number | null>(null);
  const isTooLong = text.length * 3 > TEXT_MAX_BYTES && new TextEncoder().encode(text).length > TEXT_MAX_BYTES;
  const completion = isClosed ? null : complete(text, caret, names);
  const change = (next: string, nextCaret: number) => {
    setText(next);
    setCaret(nextCaret);
    setAt(0);
    setClosed(false);
    keepDraft(draft, next);
  };
  useEffect(() => field.current?.focus({ preventScroll: true }), [replyTo]);
  useLayoutEffect(() => {
    if (chosen.current !== null) field.current!.setSelectionRange(chosen.current, chosen.current);
    chosen.current = null;
  }, [text]);
  const submit = () => {
    if (text.trim() === '' || isTooLong) return;
    change('', 0);
    onSend(text.trim());
  };
  const choose = (choice: Choice) => {
    const next = `${text.slice(0, completion!.from)}${choice.text} `;
    change(next + text.slice(caret), next.length);
    chosen.current = next.length;
  };
  const onListKey = (key: string): boolean => {
    if (!completion) return false;
    const n = completion.choices.length;
    if (key === 'ArrowDown' || key === 'ArrowUp') setAt((at + (key === 'ArrowDown' ? 1 : n - 1)) % n);
    else if (key === 'Enter' || key === 'Tab') choose(completion.choices[at]!);
    else if (key === 'Escape') setClosed(true);
    else return false;
    return true;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing || event.shiftKey) return;
    if (onListKey(event.key)) {
      event.stopPropagation();
      event.preventDefault();
    } else if (event.key === 'Escape' && replyTo) {
      onCancelReply();
    } else if (isSending(event)) {
      event.preventDefault();
      submit();
    }
  };
  const noteCaret = () => setCaret(field.current!.selectionEnd);
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {completion && <Choices id={LIST_ID} completion={completion} at={at} onChoose={choose} />}
      {replyTo && (
        <p class="editing">
          <span class="is-cut" dir="auto">
            {words.replying(seen(replyTo.from))} {replyTo.text.slice(0, 120)}
          </span>
          <button type="button" class="button is-quiet is-small is-icon" aria-label={words.cancelReply} onClick={onCancelReply}>
            <Icon name="close" />
          </button>
        </p>
      )}
      <label class="hidden" for="message">
        {words.box}
      </label>
      <textarea
        id="message"
        ref={field}
        rows={1}
        dir="auto"
        placeholder={words.placeholder}
        value={text}
        aria-describedby="message-hint"
        aria-invalid={isTooLong}
        aria-autocomplete="list"
        aria-haspopup="listbox"
        aria-controls={completion ? LIST_ID : undefined}
        aria-activedescendant={completion ? optionId(LIST_ID, at) : undefined}
        onInput={(event) => change(event.currentTarget.value, event.currentTarget.selectionEnd)}
        onKeyDown={onKeyDown}
        onKeyUp={noteCaret}
        onClick={noteCaret}
        onBlur={() => setClosed(true)}
      />
      <div class="composer-bar">
        <span class={isTooLong ? 'fault' : 'note'} id="message-hint">
          {isTooLong ? words.tooLong : words.hint}
        </span>
        <button type="submit" class="button is-main is-icon is-round" aria-label={t().composer.send} disabled={text.trim() === '' || isTooLong}>
          <Icon name="send" />
        </button>
      </div>
    </form>
  );
}
