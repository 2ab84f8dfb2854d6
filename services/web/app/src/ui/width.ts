// SPDX-License-Identifier: MIT
//
// width: whether the page is as narrow as a phone, where the list of topics lies over the rest. Also in style/chat.css.
import { signal } from '@preact/signals';

const query = matchMedia('(max-width: 52rem)');
export const isNarrow = signal(query.matches);
query.addEventListener('change', () => (isNarrow.value = query.matches));
