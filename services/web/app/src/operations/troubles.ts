// SPDX-License-Identifier: MIT
//
// troubles: what in a status somebody should look at, the worst first.
import { pageAt, type Place } from '../router';
import type { Texts } from '../texts/en';
import { seen } from '../ui/name';
import type { Status } from './status';

export interface Trouble {
  text: string;
  isBad: boolean;
  /** Where more about it is: in the app, or a page of the handbook. */
  to: { text: string; place: Place } | { text: string; page: string } | { text: string; drained: string };
}

const OLD_S = 60;

export function troublesOf(status: Status, words: Texts['operations']): Trouble[] {
  const { Depth, OldestSeconds, Engines, GoneNodes, Work, DifferentSettings, Redis } = status;
  const found: Trouble[] = [];
  const add = (text: string, to: Trouble['to'], isBad = false) => void found.push({ text, to, isBad });
  const advice = (page: string) => ({ text: words.advice, page });
  const workers = Engines?.filter(({ State }) => State === 'waiting' || State === 'working') ?? [];
  if (Redis.Status !== 'connected' || Redis.Trouble) add(words.redis(Redis.Status, Redis.Trouble ?? '', Redis.MissingShards ?? []), advice('troubleshooting'), true);
  if (Engines && workers.length === 0) add(words.noEngine(Depth ?? 0), advice('engines'), (Depth ?? 0) > 0);
  if (workers.length > 0 && (OldestSeconds ?? 0) > OLD_S) add(words.oldest(OldestSeconds!), { text: words.show, place: pageAt('operations', 'queue') });
  if (Work && Work.FailedQuestions > 0) add(words.failedQuestions(Work.FailedQuestions), { text: words.show, place: pageAt('operations', 'queue', 'Failed') });
  if (Work && Work.UnreadableJobs > 0) add(words.unreadable(Work.UnreadableJobs), advice('documents'));
  for (const { User, Engine, State, Info } of Engines ?? []) if (State === 'resting') add(words.resting(seen(Engine ?? User), seen(Info.Reason ?? '')), advice('engines'));
  for (const user of new Set(Engines?.filter(({ Drained }) => Drained).map(({ User }) => User))) add(words.drained(seen(user)), { text: words.undrain, drained: user });
  for (const { Address, Host, SeenSecondsAgo } of GoneNodes ?? []) add(words.goneNode(seen(Address ?? Host ?? '?'), SeenSecondsAgo), advice('cluster'));
  for (const { Setting, Here, There, OtherNode } of DifferentSettings) add(words.different(Setting, Here, There, OtherNode), advice('cluster'));
  return found.sort((a, b) => Number(b.isBad) - Number(a.isBad));
}
