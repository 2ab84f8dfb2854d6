// SPDX-License-Identifier: MIT
//
// message_view: one message of a room, what it answers, and what only its sender sees.
import { useMemo, useState } from 'preact/hooks';
import { Markdown, type DrawText } from '../markdown/markdown';
import { memo } from '../markdown/memo';
import { t } from '../texts';
import { CopyButton } from '../ui/copy';
import { Icon } from '../ui/icons';
import { Avatar, Name, seen } from '../ui/name';
import { clockOf, Time } from '../ui/time';
import { SecretsCard } from './secrets';
import type { Message, Private, Unsent } from './message';

const QUOTED_MAX = 120;
const FOLDED_MIN = 2500;

const escaped = (name: string) => name.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** Draws texts in which the names that are tagged stand out, most of all one's own. */
function useTags(tagged: string[], user: string): DrawText {
  return useMemo(() => {
    if (tagged.length === 0) return (text) => text;
    const names = [...tagged].sort((a, b) => b.length - a.length).map(escaped);
    const tags = new RegExp(`(@(?:${names.join('|')})(?![\\p{L}\\p{N}_-]))`, 'iu');
    return (text) =>
      text.split(tags).map((part, i) =>
        i % 2 ? (
          <mark key={i} class={`tag ${part.slice(1).toLowerCase() === user.toLowerCase() ? 'is-own' : ''}`}>
            {part}
          </mark>
        ) : (
          part
        ),
      );
  }, [tagged.join('\n'), user]);
}

function Quote({ of, onShow }: { of: Message | undefined; onShow: (id: string) => void }) {
  if (!of) return <p class="quote">{t().rooms.quoteGone}</p>;
  return (
    <button type="button" class="quote" onClick={() => onShow(of.id)}>
      <Icon name="reply" />
      <Name of={of.from} />
      <span dir="auto">{of.text.slice(0, QUOTED_MAX)}</span>
    </button>
  );
}

/** A long one is folded until one wants to read it. */
function Text({ source, drawText }: { source: string; drawText: DrawText }) {
  const [isOpen, setOpen] = useState(source.length < FOLDED_MIN);
  if (isOpen) return <Markdown source={source} drawText={drawText} />;
  return (
    <>
      <div class="is-folded">
        <Markdown source={source} drawText={drawText} />
      </div>
      <button type="button" class="button is-small" onClick={() => setOpen(true)}>
        {t().rooms.showAll}
      </button>
    </>
  );
}

export interface MessageActions {
  onReply: (to: Message) => void;
  onShow: (id: string) => void;
}

interface Props {
  message: Message;
  /** The message that it answers; undefined: it is not here. */
  parent: Message | undefined;
  /** It continues what the same person said just before. */
  isContinued: boolean;
  isBot: boolean;
  user: string;
  own: Private | undefined;
  actions: MessageActions;
}

export const MessageView = memo(({ message, parent, isContinued, isBot, user, own, actions }: Props) => {
  const drawText = useTags(message.tagged, user);
  const words = t().rooms;
  const isForMe = message.tagged.includes(user);
  return (
    <article class={`said ${isContinued ? 'is-continued' : ''} ${isForMe ? 'is-for-me' : ''}`} id={`m-${message.id}`} tabIndex={-1} aria-label={words.messageOf(seen(message.from), clockOf(message.timestamp))}>
      {message.reply_to && <Quote of={parent} onShow={actions.onShow} />}
      {!isContinued && <Avatar of={message.from} />}
      {!isContinued && (
        <p class="by">
          <strong>
            <Name of={message.from} />
          </strong>
          {isBot && <span class="chip">{words.bot}</span>}
          <Time at={message.timestamp} how={clockOf} />
        </p>
      )}
      <Text source={message.text} drawText={drawText} />
      {own && (own.caller_key ? <SecretsCard secrets={own} /> : <p class="banner">{own.text}</p>)}
      <div class="said-bar">
        <button type="button" class="button is-quiet is-small is-icon" aria-label={words.replyTo(seen(message.from))} title={words.reply} onClick={() => actions.onReply(message)}>
          <Icon name="reply" />
        </button>
        <CopyButton text={message.text} name={t().thread.copy} />
      </div>
    </article>
  );
});

export function UnsentView({ one, onAgain, onDrop }: { one: Unsent; onAgain: () => void; onDrop: () => void }) {
  const words = t().rooms;
  return (
    <div class="said is-unsent">
      <Markdown source={one.text} />
      {one.refusal === undefined ? (
        <p class="note">{words.sending}</p>
      ) : (
        <p class="ending is-bad">
          {words.unsent} {one.refusal}{' '}
          <button type="button" class="button is-small" onClick={onAgain}>
            {t().thread.again}
          </button>{' '}
          <button type="button" class="button is-small" onClick={onDrop}>
            {t().dialog.delete}
          </button>
        </p>
      )}
    </div>
  );
}
