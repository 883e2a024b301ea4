/** Tests everything that a configuration names. Prints what it found, what nestwatch assumes, and what to set. */

import { existsSync } from 'node:fs';
import { traitsOf } from '../../channels/integration-identity.ts';
import type { Config } from '../../config/config.ts';
import { codeOf, NestwatchError } from '../../errors.ts';
import { type ReplicaView, replicasOf } from '../../operator/read-replicas.ts';
import type { Edge } from '../../process-io.ts';
import { exposedFiles, storePath } from '../../store/open-store.ts';
import { isClockApart, type OwnershipView, type ReplicaRecord } from '../../store/ownership-store.ts';
import { findObstacle } from '../../store/sqlite/private-files.ts';
import { checkStoreFile } from '../../store/sqlite/upkeep/store-file.ts';
import { durationWords, howMany } from '../../text/instant-words.ts';
import { parseDuration } from '../../time/duration.ts';
import { EXIT } from '../command-rows.ts';
import { CHECK_RECEIVER, checkOnline, type OnlineResult } from '../commands/check-online.ts';
import type { ConfigOptions } from '../config-file.ts';
import { configOf } from '../read-config.ts';
import { jsonText, shownLines, widthOf, wrapped } from '../terminal-text.ts';
import { bad, type Finding, fine, note } from './examine-finding.ts';
import { examineRegion } from './examine-region.ts';

interface DoctorOptions extends ConfigOptions {
  readonly json: boolean;
  /** How long to wait for late entries. */
  readonly watch: string;
}

const MARKS = { good: 'ok', note: 'note', bad: 'BAD', unknown: '?' } as const;

/** Exits with 4 if a region or receiver fails, with 1 if the store does. */
export async function doctor(edge: Edge, options: DoctorOptions): Promise<number> {
  const watchMs = parseDuration(options.watch);
  if (watchMs === undefined) {
    throw new NestwatchError('usage', `--watch must be a duration such as 20s, not ${options.watch}`);
  }
  const config = configOf(edge, options);
  const all: (Finding & { readonly of: string })[] = [];
  const tell = (of: string, one: Finding) => {
    if (!options.json) {
      if (all.at(-1)?.of !== of) edge.stdout.write(`${shownLines(of)}\n`);
      edge.stdout.write(linesOf(one, widthOf(edge)));
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
  for await (const tried of checkOnline(edge, { ...config, regions: [], rules: [] })) {
    tell('receivers', examined(tried));
  }
  if (options.json) edge.stdout.write(jsonText({ findings: all }));
  const failing = all.filter(({ state }) => state === 'bad');
  if (failing.some(({ of }) => of !== 'store')) return EXIT.upstream;
  return failing.length > 0 ? EXIT.failed : 0;
}

function examined({ what, receiver, failure, advice = CHECK_RECEIVER }: OnlineResult): Finding {
  const assumed = 'what it refuses is tried three times, and what it does not accept otherwise for 72 h';
  if (failure === undefined) return fine(what, 'it can be reached', assumed);
  return bad(what, failure, assumed, `${advice} Then try it: nestwatch test-receiver ${receiver}`);
}

function linesOf({ state, about, found, assumed, advice }: Finding, width: number): string {
  const rest = [...(assumed ? [`assumed: ${assumed}`] : []), ...(advice ? [`do: ${advice}`] : [])];
  const first = `  ${MARKS[state].padEnd(4)}  ${shownLines(`${about}: ${found}`)}`;
  const lines = [first, ...rest.map((line) => `        ${shownLines(line)}`)].join('\n').split('\n');
  return lines.map((line) => `${wrapped(line, width, 10)}\n`).join('');
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
    return schema === 0 ? [server] : [server, ...examineReplicas(await lookAtReplicas(place, clock))];
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

const STATES = {
  working: '',
  leaving: ', and is about to end',
  silent: ', and has not said in time that it lives',
} as const;

/** How many there are, whether they are compatible, and what each does. */
export function examineReplicas(view: OwnershipView): Finding[] {
  const replicas = replicasOf(view);
  const notes = view.replicas.flatMap((one) => [...clockNote(one), ...refusalNote(one)]);
  return [judge(replicas), ...replicas.map((replica) => described(replica, view.nowUs)), ...notes];
}

function judge(replicas: readonly ReplicaView[]): Finding {
  const working = replicas.filter(({ state }) => state === 'working');
  const versions = [...new Set(replicas.map(({ version }) => version))].toSorted();
  const assumed = 'one that ends or falls silent has its work taken over by the others';
  if (replicas.length === 0) return note('replicas', 'none is running', assumed);
  if (versions.length > 1) {
    const found = `${howMany(replicas.length, 'replica')} of different versions: ${versions.join(', ')}`;
    const advice = 'Have all run the same version, as soon as an update is through.';
    return note('replicas', found, assumed, advice);
  }
  if (working.length === 0) {
    const advice = 'Look at the log of the one that is silent, and start one that works.';
    return note('replicas', 'none of them works', assumed, advice);
  }
  if (working.length === 1) {
    const advice = 'Start a second one, unless nobody needs the watch while this one is away.';
    return note('replicas', 'only one works: nobody would take over from it', assumed, advice);
  }
  return fine('replicas', `${working.length} work, of version ${versions[0]}`, assumed);
}

function clockNote({ name, clockAheadUs }: ReplicaRecord): Finding[] {
  if (!isClockApart(clockAheadUs)) return [];
  const by = durationWords(Math.abs(clockAheadUs) / 1000, 'one unit');
  return [
    note(
      'clock',
      `that of replica ${name} is ${by} ${clockAheadUs < 0 ? 'behind' : 'ahead of'} that of the server`,
      'its log is dated by its own clock, and all else by that of the server',
      'Set the clock of its machine, best by NTP.',
    ),
  ];
}

function refusalNote({ name, refused }: ReplicaRecord): Finding[] {
  if (!refused) return [];
  return [
    note(
      'configuration',
      `replica ${name} could not take up its file, of which the first mistake is at ${refused.first}`,
      'what it read before is in force there',
      'Correct the file of that replica; see all mistakes with: nestwatch check-config',
    ),
  ];
}

function described(
  { name, version, startedUs, state, isAlerting, regions }: ReplicaView,
  nowUs: number,
): Finding {
  const duties = [
    ...(regions.length > 0 ? [`reads ${regions.map(({ region }) => region).join(', ')}`] : []),
    ...(isAlerting ? ['decides about alerts'] : []),
  ];
  const does = duties.join(' and ') || 'reads no region';
  const age = durationWords((nowUs - startedUs) / 1000, 'two units');
  const found = `${name}, version ${version}, runs for ${age}, ${does}${STATES[state]}`;
  return (state === 'working' ? fine : note)('replica', found, '');
}
