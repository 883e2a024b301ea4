/** Describes the replicas that share a store. */
import { type ReplicaView, replicasOf } from '../../operator/read-replicas.ts';
import { isClockApart, type OwnershipView, type ReplicaRecord } from '../../store/ownership-store.ts';
import { durationWords, howMany } from '../../text/duration-words.ts';
import { type Finding, fine, note } from './examine-finding.ts';

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
