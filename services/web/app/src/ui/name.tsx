// SPDX-License-Identifier: MIT
//
// name: names that others have chosen. What one cannot see in them, or what turns the direction of the text around, is shown as a sign,
// so that no name looks like another one.
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/gu;
const HUES = 8;

export const seen = (name: string) => name.replace(UNSEEN, '\ufffd');

/** One of a few colours, always the same one for a name. */
function hueOf(name: string): number {
  let sum = 0;
  for (const letter of name) sum = (sum * 31 + letter.codePointAt(0)!) >>> 0;
  return sum % HUES;
}

export const Name = ({ of }: { of: string }) => <bdi>{seen(of)}</bdi>;

export const Avatar = ({ of }: { of: string }) => (
  <span class={`avatar is-hue-${hueOf(of)}`} aria-hidden="true">
    {[...seen(of)][0]?.toUpperCase()}
  </span>
);
