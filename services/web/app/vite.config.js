// SPDX-License-Identifier: MIT
//
// The build of the web app. Addresses are relative, since nodes are served below paths that they do not know.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const here = dirname(fileURLToPath(import.meta.url));

// The form of this package for browsers decodes entities by innerHTML, which Trusted Types refuse. The other one has a table.
const entities = createRequire(import.meta.url).resolve('decode-named-character-reference').replace(/index\.dom\.js$/, 'index.js');

// licenses.txt: the licences of what is in the build, as they ask for.
function licences() {
  return {
    name: 'licences',
    generateBundle(_options, bundle) {
      const ids = Object.values(bundle).flatMap((chunk) => Object.keys(chunk.modules ?? {}));
      const names = new Set(ids.map((id) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1]).filter(Boolean));
      const texts = [...names].sort().map((name) => {
        const folder = join(here, 'node_modules', name);
        const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
        return `${name} ${version} (${license})\n\n${licenceIn(folder).trim()}\n`;
      });
      this.emitFile({ type: 'asset', fileName: 'licenses.txt', source: texts.join(`\n${'-'.repeat(80)}\n\n`) });
    },
  };
}

function licenceIn(folder) {
  for (const name of ['LICENSE', 'license', 'LICENSE.md', 'license.md']) {
    try {
      return readFileSync(join(folder, name), 'utf8');
    } catch {
      // the next name
    }
  }
  throw new Error(`${folder} has no licence`);
}

export default defineConfig({
  root: here,
  base: './',
  logLevel: 'warn',
  resolve: { alias: { 'decode-named-character-reference': entities } },
  plugins: [licences()],
  build: {
    target: 'es2022',
    assetsDir: '',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      output: { entryFileNames: 'app-[hash].js', chunkFileNames: '[name]-[hash].js', assetFileNames: 'app-[hash][extname]' },
    },
  },
});
