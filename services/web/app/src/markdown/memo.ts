// SPDX-License-Identifier: MIT
import { Component, h, type FunctionComponent } from 'preact';

/** A component that is drawn again only when one of its properties is another. */
export function memo<P extends object>(of: FunctionComponent<P>, isSame: (one: unknown, other: unknown) => boolean = Object.is): FunctionComponent<P> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      return (Object.keys(next) as (keyof P)[]).some((name) => name !== ('children' as keyof P) && !isSame(next[name], (this.props as P)[name]));
    }
    override render() {
      return h(of, this.props as P);
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}
