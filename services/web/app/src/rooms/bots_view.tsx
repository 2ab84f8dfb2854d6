// SPDX-License-Identifier: MIT
//
// bots_view: the bots of the namespace, and registering one.
import { useEffect, useState } from 'preact/hooks';
import { go, hrefOf, pageAt } from '../router';
import { Problem } from '../session/session';
import { t } from '../texts';
import { askFor } from '../ui/dialog';
import { Frame, Head } from '../ui/frame';
import { Icon } from '../ui/icons';
import { Menu } from '../ui/menu';
import { Avatar, Name, seen } from '../ui/name';
import { bots, loadBots, removeBot, rotateBot, type Bot, type Secrets } from './bots';
import { BotForm } from './bot_form';
import { RoomList } from './room_list';
import { SecretsCard } from './secrets';

function wayOf(bot: Bot): string {
  const words = t().rooms;
  if (bot.pulls) return words.wayPull;
  if (bot.endpoint === null) return words.wayUnknown;
  return bot.endpoint.startsWith('parley:') ? words.wayModel(bot.endpoint.slice('parley:'.length)) : bot.endpoint;
}

function BotMenu({ bot, onSecrets }: { bot: Bot; onSecrets: (secrets: Secrets) => void }) {
  const words = t().rooms;
  const name = bot.username;
  const rotate = () => askFor({ title: words.rotateTitle, text: words.rotateText(name), action: words.rotate, onAccept: async () => onSecrets(await rotateBot(name)) });
  const remove = () => askFor({ title: words.removeTitle, text: words.removeText(name), action: words.remove, isBad: true, onAccept: () => removeBot(name) });
  const evaluate = () => go(pageAt('rooms', 'evaluations'));
  return (
    <Menu
      name={words.botMenu(seen(name))}
      class="topic-menu"
      groups={[
        {
          items: [
            ...(bot.pulls ? [] : [{ text: words.evaluate, icon: 'curve' as const, onChoose: evaluate }]),
            { text: words.rotate, icon: 'key', onChoose: rotate },
            { text: words.remove, icon: 'trash', isBad: true, onChoose: remove },
          ],
        },
      ]}
    >
      <Icon name="more" />
    </Menu>
  );
}

function BotCard({ bot, onSecrets }: { bot: Bot; onSecrets: (secrets: Secrets) => void }) {
  return (
    <li class="row">
      <Avatar of={bot.username} />
      <div class="row-text">
        <strong>
          @<Name of={bot.username} />
        </strong>
        <p class="note" dir="auto">
          {[bot.emulates && t().rooms.botAs(seen(bot.emulates)), wayOf(bot)].filter(Boolean).join(' · ')}
        </p>
      </div>
      {bot.format === 'zulip' && <span class="chip">Zulip</span>}
      <BotMenu bot={bot} onSecrets={onSecrets} />
    </li>
  );
}

export function BotsView() {
  const words = t().rooms;
  const [fault, setFault] = useState('');
  const [isOpen, setOpen] = useState(false);
  const [secrets, setSecrets] = useState<{ of: Secrets; isUnneeded: boolean } | null>(null);
  useEffect(() => {
    loadBots().catch((error: unknown) => setFault(error instanceof Problem ? error.detail : t().signIn.unreachable));
  }, []);
  const all = bots.value;
  const onRegistered = (made: Secrets, isModel: boolean) => {
    setSecrets({ of: made, isUnneeded: isModel });
    setOpen(false);
  };
  return (
    <Frame
      title={words.bots}
      list={<RoomList />}
      head={
        <Head title={words.bots}>
          <span class="gap" />
          {!isOpen && (
            <button type="button" class="button is-main is-compact" onClick={() => setOpen(true)}>
              <Icon name="plus" /> {words.register}
            </button>
          )}
        </Head>
      }
    >
      <div class="scroller">
        <div class="sheet">
          {secrets && <SecretsCard secrets={secrets.of} isUnneeded={secrets.isUnneeded} />}
          {isOpen && <BotForm onRegistered={onRegistered} onCancel={() => setOpen(false)} />}
          {fault && (
            <p class="fault" role="alert">
              {t().unexpected(fault)}
            </p>
          )}
          {all?.length === 0 && !isOpen && (
            <div class="welcome">
              <h2>{words.noBots}</h2>
              <p>{words.noBotsNote}</p>
            </div>
          )}
          {all && all.length > 0 && (
            <ul class="rows">
              {all.map((bot) => (
                <BotCard key={bot.username} bot={bot} onSecrets={(of) => setSecrets({ of, isUnneeded: bot.endpoint?.startsWith('parley:') ?? false })} />
              ))}
            </ul>
          )}
          {all && all.length > 0 && (
            <p class="note">
              {words.botsNote} <a href={hrefOf(pageAt('rooms'))}>{t().pages.rooms}</a>
            </p>
          )}
        </div>
      </div>
    </Frame>
  );
}
