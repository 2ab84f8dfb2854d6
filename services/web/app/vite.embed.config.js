// SPDX-License-Identifier: MIT
//
// The build of embed.js, beside that of the app: one classic script, since it runs on pages that load nothing else of this origin.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

export default defineConfig({
  root: dirname(fileURLToPath(import.meta.url)),
  logLevel: 'warn',
  publicDir: false,
  build: {
    target: 'es2022',
    emptyOutDir: false,
    modulePreload: false,
    rollupOptions: { input: 'src/embed/embed.ts', output: { format: 'iife', entryFileNames: 'embed.js' } },
  },
});
