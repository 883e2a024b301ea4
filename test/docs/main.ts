/** `npm run docs`: writes everything in the documents that is generated from the code. */
import { readFileSync, writeFileSync } from 'node:fs';
import { GENERATED } from './generated.ts';

const path = (file: string) => new URL(`../../${file}`, import.meta.url);

for (const { file, content } of GENERATED) {
  writeFileSync(
    path(file),
    content((name) => readFileSync(path(name), 'utf8')),
  );
}
