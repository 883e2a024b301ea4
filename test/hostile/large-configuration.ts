/** Configurations that take long to read or to report on. */
import { loadConfig } from '../../src/config/load-config.ts';
import { ConfigError } from '../../src/document/problem.ts';

const MIB = 2 ** 20;
const REGION = 'regions: { eu: { base_url: "https://x.example", token: x } }\n';

function mistakesIn(text: string): number {
  try {
    loadConfig({ file: 'n.yaml', text, environment: {}, readFile: () => '' });
    return 0;
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.length;
    throw error;
  }
}

/** What is wrong; undefined if nothing is. */
export async function mistakeWithLargeFile(): Promise<string | undefined> {
  return mistakesIn(`${REGION}#${'x'.repeat(5 * MIB)}`) === 0 ? 'a file of 5 MiB was read' : undefined;
}

export async function mistakeWithManyValues(): Promise<string | undefined> {
  const found = mistakesIn(`${REGION}rules: [${'1,'.repeat(300_000)}]`);
  return found === 1 ? undefined : `a file of 300,000 values was read and had ${found} mistakes`;
}

export async function mistakeWithManyMistakes(): Promise<string | undefined> {
  const found = mistakesIn(
    `${REGION}poll:\n${Array.from({ length: 2_000 }, (_, at) => `  k${at}: 1\n`).join('')}`,
  );
  return found > 200 ? `${found} mistakes were collected` : undefined;
}
