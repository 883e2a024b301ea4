/**
 * Makes `dist` when the npm package is packed: Node does not strip types below `node_modules`. The libraries are installed
 * beside it as usual.
 */
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeBundle } from './bundle.ts';

const dist = join(import.meta.dirname, '../../dist');
await writeBundle(dist, { hasLibraries: false, isSplit: true });
copyFileSync(join(import.meta.dirname, 'nestwatch.js'), join(dist, 'nestwatch.js'));
