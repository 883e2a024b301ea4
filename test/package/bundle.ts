/**
 * Makes a few minified files of the program, which start in half the time of its sources and take less memory:
 * `node test/package/bundle.ts FOLDER` for the image, with all libraries. The checkout itself always runs from source.
 */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type RolldownPluginOption, rolldown } from 'rolldown';

const ROOT = join(import.meta.dirname, '../..');
/** The licences of the libraries that are part of a bundle. */
export const NOTICES = 'THIRD-PARTY-NOTICES.txt';
/** Between two of them. */
export const RULE = `${'-'.repeat(80)}\n`;

/**
 * Libraries that few need are loaded by a `require` that a module creates. The bundler includes only what its own
 * `require` loads, so the module's is removed.
 */
const WITH_LATER_LIBRARIES: RolldownPluginOption = {
  name: 'libraries-loaded-later',
  transform(code) {
    const own = 'const require = createRequire(import.meta.url);';
    return code.includes(own) ? { code: code.replace(own, '') } : undefined;
  },
};

const LIBRARIES = Object.keys(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).dependencies);
const isOf = (id: string, library: string) => id === library || id.startsWith(`${library}/`);

interface Options {
  /** Whether the libraries are part of it; otherwise they are loaded from `node_modules`. */
  readonly hasLibraries: boolean;
  /** Whether what few commands need is in files of its own; an executable contains a single file. */
  readonly isSplit: boolean;
}

/** Writes `nestwatch.mjs`, which is the program, and its other files into `folder`. */
export async function writeBundle(folder: string, { hasLibraries, isSplit }: Options): Promise<void> {
  const build = await rolldown({
    input: join(ROOT, 'src/main.ts'),
    platform: 'node',
    external: (id) => id.startsWith('node:') || (!hasLibraries && LIBRARIES.some((name) => isOf(id, name))),
    plugins: hasLibraries ? [WITH_LATER_LIBRARIES] : [],
  });
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { output } = await build.write({
    dir: folder,
    format: 'esm',
    entryFileNames: 'nestwatch.mjs',
    chunkFileNames: '[name]-[hash].mjs',
    codeSplitting: isSplit,
    // Traces name functions and classes.
    minify: { compress: true, mangle: { keepNames: true }, codegen: { removeWhitespace: true } },
  });
  for (const file of globSync('*.mjs', { cwd: folder })) {
    const path = join(folder, file);
    writeFileSync(path, asLatin1(readFileSync(path, 'utf8')));
  }
  if (!hasLibraries) return;
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
  writeFileSync(join(folder, NOTICES), noticesOf(modules));
}

/** The licences of the libraries that these modules belong to, which their owners want to be shipped with them. */
function noticesOf(modules: readonly string[]): string {
  const folders = new Set(modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id) ?? []));
  const notices = [...folders].toSorted().map((library) => {
    const read = (files: string) =>
      globSync(files, { cwd: library }).map((file) => readFileSync(join(library, file), 'utf8').trim())[0] ??
      '';
    const { name, version, license, repository } = JSON.parse(read('package.json'));
    // Some have it only in their README.
    const inReadme = () => /^#+ licen[cs]e\n(.*)/ims.exec(read('README.md'))?.[1] ?? '';
    const text = read('{licen[cs]e,LICEN[CS]E,License}*') || inReadme();
    // The MPL wants to be told where the source is.
    const source = `Source: ${repository.url ?? repository}`;
    return `${`${name} ${version} (${license})\n\n${source}\n\n${text}`.trim()}\n`;
  });
  return notices.join(`\n${RULE}\n`);
}

/**
 * V8 keeps the text of a module at two bytes a character if a single one is beyond Latin-1. So those are escaped: in
 * texts, templates and regular expressions alike, `\u` means the same.
 */
function asLatin1(text: string): string {
  return text.replaceAll(/[^\0-\xff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

if (import.meta.main) {
  await writeBundle(resolve(process.argv[2] ?? join(ROOT, 'dist')), { hasLibraries: true, isSplit: true });
}
