// SPDX-License-Identifier: MIT
//
// time: moments, as people of the shown language write them.
import { language } from '../texts';

const format = (at: number | string, how: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(language.value === 'en' ? 'en-GB' : language.value, how).format(new Date(at));

export const clockOf = (at: number | string) => format(at, { hour: '2-digit', minute: '2-digit' });
export const secondOf = (at: number | string) => format(at, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
export const dayOf = (at: number | string) => format(at, { weekday: 'long', day: 'numeric', month: 'long' });
export const momentOf = (at: number | string) => format(at, { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });

export const Time = ({ at, how = momentOf }: { at: number | string; how?: (at: number | string) => string }) => <time dateTime={new Date(at).toISOString()}>{how(at)}</time>;
