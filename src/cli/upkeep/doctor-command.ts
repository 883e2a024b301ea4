/** Tests everything that a configuration names. Prints what it found, what nestwatch assumes, and what to set. */
import { existsSync } from 'node:fs';
import { traitsOf } from '../../channels/traits.ts';
import type { Config } from '../../config/config.ts';
import { codeOf, NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { exposedFiles, storePath } from '../../store/open-store.ts';
import { findObstacle } from '../../store/sqlite/file-obstacle.ts';
import { checkStoreFile } from '../../store/sqlite/upkeep/store-file.ts';
import { parseDuration } from '../../time/duration.ts';
import { checkOnline } from '../commands/check-online.ts';
import { findConfigFile } from '../config-file.ts';
import { readConfig } from '../read-config.ts';
import { jsonText, shownLines } from '../terminal-text.ts';
import { bad, type Finding, fine, note } from './examine-finding.ts';
import { examineRegion } from './examine-region.ts';
import { examineReplicas } from './examine-replicas.ts';

interface DoctorOptions {
  readonly configFile: string | undefined;
  readonly json: boolean;
  /** How long to wait for late entries. */
  readonly watch: string;
}

/** The exit code if a region or a receiver cannot be used as configured. */
const TEST_FAILED = 4;
const FAILED = 1;

const MARKS = { good: 'ok', note: 'note', bad: 'BAD', unknown: '?' } as const;

/** Exits with 4 if a region or receiver fails, with 1 if the store does. */
export async function doctor(edge: Edge, options: DoctorOptions): Promise<number> {
  const watchMs = parseDuration(options.watch);
  if (watchMs === undefined) {
    throw new NestwatchError('usage', `--watch must be a duration such as 20s, not ${options.watch}`);
  }
  const config = readConfig(edge, findConfigFile(edge, options.configFile));
  const all: (Finding & { readonly of: string })[] = [];
  const tell = (of: string, one: Finding) => {
    if (!options.json) {
      if (all.at(-1)?.of !== of) edge.stdout.write(`${shownLines(of)}\n`);
      edge.stdout.write(linesOf(one));
    }
    all.push({ of, ...one });
  };
  const mailing = config.receivers.flatMap(({ name, integrations }) =>
    integrations
      .filter((one) => traitsOf(one).nestMembers !== undefined)
      .map((integration) => ({ name, integration })),
  );
  for (const region of config.regions) {
    for await (const one of examineRegion(edge, { region, poll: config.poll, watchMs, mailing })) {
      tell(`region ${region.name}`, one);
    }
  }
  for (const one of await examineStore(edge, config.store)) tell('store', one);
  for await (const { what, failure } of checkOnline(edge, { ...config, regions: [] })) {
    const found = failure ?? 'it can be reached';
    const assumed = 'what it does not accept is tried again for 72 h';
    tell('receivers', (failure ? bad : fine)(what, found, assumed));
  }
  if (options.json) edge.stdout.write(jsonText({ findings: all }));
  const failing = all.filter(({ state }) => state === 'bad');
  if (failing.some(({ of }) => of !== 'store')) return TEST_FAILED;
  return failing.length > 0 ? FAILED : 0;
}

function linesOf({ state, about, found, assumed, advice }: Finding): string {
  const rest = [...(assumed ? [`assumed: ${assumed}`] : []), ...(advice ? [`do: ${advice}`] : [])];
  const first = `  ${MARKS[state].padEnd(4)}  ${shownLines(`${about}: ${found}`)}\n`;
  return first + rest.map((line) => `        ${shownLines(line)}\n`).join('');
}

async function examineStore(edge: Edge, { url, postgres }: Config['store']): Promise<readonly Finding[]> {
  if (postgres) return examineServer(edge, postgres);
  const path = storePath(url);
  const assumed = 'each commit is on the disk before anything is sent';
  if (path === ':memory:') {
    const advice = 'Set store.url: sqlite:FILE for anything but trials.';
    return [note('file', 'it is in memory and ends with the process', assumed, advice)];
  }
  const obstacle = findObstacle(path);
  if (obstacle !== undefined) {
    return [bad('file', obstacle, assumed, 'Correct store.url, or what is in its way.')];
  }
  if (!existsSync(path)) return [fine('file', `${path} is not there yet and is made`, assumed)];
  const [warning] = await exposedFiles(url);
  const rights =
    warning === undefined ? fine('rights', 'only its user reads it', '') : note('rights', warning, '');
  return [damageOf(path, assumed), rights];
}

async function examineServer(
  { clock }: Edge,
  place: NonNullable<Config['store']['postgres']>,
): Promise<readonly Finding[]> {
  const { lookAtReplicas, lookAtServer } = await import('../../store/postgres/look-at-server.ts');
  try {
    const { version, schema, isEncrypted } = await lookAtServer(place);
    const tables =
      schema === 0 ? 'its tables are not there yet and are made' : `its tables have version ${schema}`;
    const found = `${place.shown} is PostgreSQL ${version}, ${isEncrypted ? 'encrypted' : 'not encrypted'}; ${tables}`;
    const assumed = 'the server keeps what it has committed (fsync, and synchronous_commit not off)';
    const server = fine('server', found, assumed);
    return schema === 0 ? [server] : [server, ...examineReplicas(await lookAtReplicas({ place, clock }))];
  } catch (error) {
    if (codeOf(error) === 'bug') throw error;
    return [bad('server', (error as Error).message, '', 'Correct store.url, or see to the server.')];
  }
}

function damageOf(path: string, assumed: string): Finding {
  try {
    const { damages, events } = checkStoreFile(path);
    return damages[0] === undefined
      ? fine('file', `${path} is whole, with ${events} events`, assumed)
      : bad('file', damages[0], assumed, 'Restore a backup.');
  } catch (error) {
    if (codeOf(error) === 'bug') throw error;
    return bad('file', (error as Error).message, assumed);
  }
}
