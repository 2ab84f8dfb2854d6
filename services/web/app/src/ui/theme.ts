// SPDX-License-Identifier: MIT
//
// theme: light, dark, or as the system has it.
import { effect, signal } from '@preact/signals';

const KEY = 'parley.theme';
export type Theme = 'auto' | 'light' | 'dark';
export const themes: Theme[] = ['auto', 'light', 'dark'];

const isTheme = (name: unknown): name is Theme => themes.includes(name as Theme);
const kept = localStorage.getItem(KEY);
export const theme = signal<Theme>(isTheme(kept) ? kept : 'auto');

export function startTheme(): void {
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
    localStorage.setItem(KEY, theme.value);
  });
}
