// SPDX-License-Identifier: MIT
//
// room_view: a room: what has been said in it, the latest at the bottom, and the box to write in.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { go, pageAt } from '../router';
import { t } from '../texts';
import { useBottom } from '../ui/bottom';
import { askFor } from '../ui/dialog';
import { Earlier } from '../ui/earlier';
import { Frame, Head } from '../ui/frame';
import { Icon } from '../ui/icons';
import { Menu } from '../ui/menu';
import { dayOf } from '../ui/time';
import { bots, loadBots } from './bots';
import type { Choice } from './completion';
import type { Message } from './message';
import { MessageBox } from './message_box';
import { MessageView, UnsentView } from './message_view';
import { openRoom, type OpenRoom } from './room';
import { RoomList, startRoom } from './room_list';
import { deleteRoom, forgetRoom, nameOfRoom, rooms } from './rooms';

/** How many messages are drawn at first, and how many more when one scrolls up to them. */
const PAGE = 80;
/** What one says within this time after one's last message is shown below it without the name again. */
const CONTINUED_MS = 5 * 60_000;
const NAMES_MAX = 500;
const ANNEX = 'annex';

function RoomMenu({ id, name }: { id: string; name: string }) {
  const words = t().rooms;
  const remove = () => {
    const onAccept = async () => {
      await deleteRoom(id);
      go(pageAt('rooms'), { replaces: true });
    };
    askFor({ title: words.deleteTitle, text: words.deleteText(name), action: t().dialog.delete, isBad: true, onAccept });
  };
  return (
    <Menu name={words.menu(name)} class="topic-menu" groups={[{ items: [{ text: words.delete, icon: 'trash', isBad: true, onChoose: remove }] }]}>
      <Icon name="more" />
    </Menu>
  );
}

/** Who and what may be tagged: bots, and everybody who has said something here. */
function useNames(messages: Message[], user: string): Choice[] {
  const words = t().rooms;
  const all = bots.value;
  return useMemo(() => {
    const names = new Map<string, string>([[ANNEX, words.mainBot]]);
    for (const bot of all ?? []) names.set(bot.username, bot.emulates ? words.botAs(bot.emulates) : words.bot);
    for (const { from } of [...messages].reverse()) if (from !== user && !names.has(from) && names.size < NAMES_MAX) names.set(from, '');
    return [...names].map(([text, note]) => ({ text, note }));
  }, [all, messages, user, words]);
}

function isContinued(one: Message, before: Message | undefined): boolean {
  return before?.from === one.from && !one.reply_to && Date.parse(one.timestamp) - Date.parse(before.timestamp) < CONTINUED_MS && dayOf(one.timestamp) === dayOf(before.timestamp);
}

function show(id: string): void {
  const element = document.getElementById(`m-${id}`);
  element?.scrollIntoView({ block: 'center' });
  element?.focus({ preventScroll: true });
}

function Messages({ room, user, shown, onReply }: { room: OpenRoom; user: string; shown: number; onReply: (to: Message) => void }) {
  const all = room.messages.value;
  const byId = useMemo(() => new Map(all.map((one) => [one.id, one])), [all]);
  const botNames = useMemo(() => new Set([ANNEX, ...(bots.value ?? []).map(({ username }) => username)]), [bots.value]);
  const actions = useMemo(() => ({ onReply, onShow: show }), []);
  const drawn = all.slice(-shown);
  return (
    <>
      {drawn.map((one, i) => {
        const before = drawn[i - 1];
        const isNewDay = !before || dayOf(before.timestamp) !== dayOf(one.timestamp);
        return [
          isNewDay && (
            <p class="day" key={`day ${one.id}`}>
              <span>{dayOf(one.timestamp)}</span>
            </p>
          ),
          <MessageView key={one.id} message={one} parent={one.reply_to ? byId.get(one.reply_to) : undefined} isContinued={!isNewDay && isContinued(one, before)} isBot={botNames.has(one.from)} user={user} own={room.privates.value.get(one.id)} actions={actions} />,
        ];
      })}
    </>
  );
}

function State({ room }: { room: OpenRoom }) {
  const words = t().rooms;
  const status = room.status.value;
  if (status === 'loading') return <p class="message is-late">{t().thread.loading}</p>;
  if (status === 'missing') return <p class="message">{words.missing}</p>;
  if (status === 'failed')
    return (
      <p class="message">
        {words.roomFailed}{' '}
        <button type="button" class="button is-small" onClick={() => location.reload()}>
          {t().thread.again}
        </button>
      </p>
    );
  if (room.messages.value.length > 0 || room.unsent.value.length > 0) return null;
  return (
    <div class="welcome is-room">
      <h2>{words.empty}</h2>
      <p>{words.emptyNote}</p>
    </div>
  );
}

function Talk({ room, user, onReply }: { room: OpenRoom; user: string; onReply: (to: Message) => void }) {
  const unsent = room.unsent.value;
  const [shown, setShown] = useState(PAGE);
  const n = room.messages.value.length;
  const { box, content, isAway, toBottom, onScroll } = useBottom([room, room.status.value, unsent.length]);
  const showEarlier = () => {
    if (n <= shown) room.readEarlier();
    setShown(Math.min(shown, n) + PAGE);
  };
  const hasEarlier = n > 0 && (n > shown || !room.isFirst.value);
  return (
    <>
      <div class="scroller" ref={box} onScroll={onScroll} tabIndex={0} role="log" aria-label={t().rooms.log}>
        <div class="thread room" ref={content}>
          {hasEarlier && <Earlier text={t().rooms.earlier} onSeen={showEarlier} />}
          <State room={room} />
          <Messages room={room} user={user} shown={shown} onReply={onReply} />
          {unsent.map((one) => (
            <UnsentView
              key={one.key}
              one={one}
              onDrop={() => room.drop(one)}
              onAgain={() => {
                room.drop(one);
                room.say(one.text, one.reply_to);
              }}
            />
          ))}
        </div>
      </div>
      {isAway && (
        <button type="button" class="button is-icon is-round to-latest" aria-label={t().rooms.latest} onClick={toBottom}>
          <Icon name="down" />
        </button>
      )}
    </>
  );
}

export function RoomView({ id, user }: { id: string; user: string }) {
  const words = t().rooms;
  const [room, setRoom] = useState<OpenRoom | null>(null);
  const [replyTo, setReplyTo] = useState<Message | null>(null);
  useEffect(() => {
    const opened = openRoom(id);
    setRoom(opened);
    void loadBots().catch(() => {});
    return opened.close;
  }, [id]);
  const status = room?.status.value;
  useEffect(() => {
    if (status === 'missing') forgetRoom(id);
  }, [status]);
  const name = nameOfRoom(id) ?? (rooms.value ? words.unnamed : '');
  const names = useNames(room?.messages.value ?? [], user);
  const send = (text: string) => {
    room!.say(text, replyTo?.id ?? null);
    setReplyTo(null);
  };
  return (
    <Frame title={name || words.unnamed} list={<RoomList />} head={<Head title={name}>{status === 'ready' && <RoomMenu id={id} name={name} />}</Head>}>
      {room && <Talk room={room} user={user} onReply={setReplyTo} />}
      {status === 'ready' && (
        <div class="foot">
          <p class={`status ${room!.isAway.value ? 'is-bad' : ''}`} role="status">
            {room!.isAway.value && <span class="pulse">{words.away}</span>}
          </p>
          <MessageBox room={id} names={names} replyTo={replyTo} onSend={send} onCancelReply={() => setReplyTo(null)} />
        </div>
      )}
    </Frame>
  );
}

/** The page of no room. */
export function Welcome() {
  const words = t().rooms;
  return (
    <Frame title={t().pages.rooms} head={<Head title="" />} list={<RoomList />} class="is-new">
      <div class="welcome">
        <h1>{words.welcome}</h1>
        <p>{words.welcomeNote}</p>
        <p>
          <button type="button" class="button is-main" onClick={startRoom}>
            <Icon name="plus" /> {words.new}
          </button>
        </p>
      </div>
    </Frame>
  );
}
