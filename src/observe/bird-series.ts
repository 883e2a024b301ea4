/**
 * The series that each Bird has of its own. They follow the inventory: they exist from the first sight of a Bird on,
 * at 0 where nothing happened yet in this life (of the last failure: in any), and go when it vanishes. A region has
 * room for a bounded number of Birds, so that a scrape stays fast and one large region takes nothing from another; the
 * Birds beyond it count in everything else, and `dropped` hears of each of their series left out. Where only Birds that
 * fail are shown, the others take no room from them.
 *
 * With ten thousand Birds these are a hundred times as many series as all others. So they are not the metrics
 * library's, which needs an object and a search for each: what a Bird has stands in one object, and its lines are
 * written when they are asked for, in parts, between which the process turns to other things.
 */

import type { ObservedBird } from '../report.ts';
import { plainText } from '../text/plain-text.ts';
import { BIRD_METRICS } from './metric-catalogue.ts';

/** Of which Birds series are shown. `failing`: those of which a Flight failed within a day, or that are suspended. */
export type ShownBirds = 'all' | 'failing' | 'none';

export type BirdMetric = keyof typeof BIRD_METRICS;

interface BirdSeriesOptions {
  readonly shown: ShownBirds;
  /** Of each region that are shown at the most. */
  readonly birdsPerRegion: number;
  /** Of each region that are counted at the most: any of them may come to be shown. */
  readonly knownPerRegion: number;
  readonly birdStatuses: readonly string[];
  readonly endStatuses: readonly string[];
  /** Makes a status that the service invents fit for a label. */
  readonly birdStatusLabel: (status: string) => string;
  /** When a Flight of the Bird last failed in an earlier life; 0 for never. */
  readonly lastFailureUs: (region: string, birdId: string) => number;
  readonly dropped: (metric: BirdMetric) => void;
}

export interface BirdSeries {
  inventory(region: string, birds: readonly ObservedBird[]): void;
  flightStarted(place: BirdPlace): void;
  /** `status` is fit for a label. */
  flightEnded(place: BirdPlace, status: string, atUs: number): void;
  flightsActive(place: BirdPlace, count: number): void;
  /** Prometheus' text, or that of OpenMetrics, of all of it, in parts of `PART_LENGTH`. */
  write(isOpenMetrics: boolean, nowUs: number): Generator<string>;
}

export interface BirdPlace {
  readonly region: string;
  readonly nestId: string;
  readonly birdId: string;
}

interface Bird {
  readonly nestId: string;
  /** What all its lines have between their braces. */
  readonly labels: string;
  /** What its info has besides; empty before the inventory was read. */
  info: string;
  status: string;
  started: number;
  /** By the position of the status in `statuses`; absent for one that none of its Flights had. */
  readonly ended: number[];
  active: number;
  lastFailureUs: number;
}

const MAX_NAME_LENGTH = 120;
const FAILING_US = 86_400e6;
/** Of text that is written in a row, before the process turns to other things: it takes half a millisecond. */
export const PART_LENGTH = 262_144;

export function createBirdSeries(options: BirdSeriesOptions): BirdSeries {
  const { birdsPerRegion, dropped, birdStatuses, endStatuses } = options;
  const keptPerRegion = options.shown === 'failing' ? options.knownPerRegion : birdsPerRegion;
  /** How Flights end: the known ways, and those that were seen besides. */
  const statuses = [...endStatuses];
  const regions = new Map<string, Map<string, Bird>>();

  function birdsOf(region: string): Map<string, Bird> {
    const birds = regions.get(region) ?? new Map<string, Bird>();
    regions.set(region, birds);
    return birds;
  }

  /** The Bird, made at its first sight; undefined when its region has no room left. */
  function keep({ region, nestId, birdId }: BirdPlace): Bird | undefined {
    const birds = birdsOf(region);
    const known = birds.get(birdId);
    if (known) return known;
    if (birds.size >= keptPerRegion) return undefined;
    const made: Bird = {
      nestId,
      labels: labelsOf({ region, nest_id: nestId, bird_id: birdId }),
      info: '',
      status: '',
      started: 0,
      ended: endStatuses.map(() => 0),
      active: 0,
      lastFailureUs: options.lastFailureUs(region, birdId),
    };
    birds.set(birdId, made);
    return made;
  }

  /** The Bird of which something is to be counted; undefined where there is none to show. */
  function find(place: BirdPlace, metrics: readonly BirdMetric[]): Bird | undefined {
    if (options.shown === 'none') return undefined;
    const bird = keep(place);
    if (!bird) for (const metric of metrics) dropped(metric);
    return bird;
  }

  /** Those that have series now, as many as each region has room for. */
  function shownAt(nowUs: number): readonly Bird[] {
    const isShown = options.shown === 'failing' ? (bird: Bird) => isFailing(bird, nowUs) : () => true;
    return [...regions.values()].flatMap((birds) => {
      const all = [...birds.values()].filter(isShown);
      for (const _ of all.slice(birdsPerRegion)) for (const metric of ALL_METRICS) dropped(metric);
      return all.slice(0, birdsPerRegion);
    });
  }

  return {
    inventory(region, listed) {
      const birds = birdsOf(region);
      const nests = new Map(listed.map((bird) => [bird.birdId, bird.nestId]));
      for (const [birdId, { nestId }] of birds) {
        // A Bird that moved to another Nest has other labels: its series begin anew.
        if (nests.get(birdId) !== nestId) birds.delete(birdId);
      }
      for (const seen of listed) {
        const bird = find({ region, ...seen }, ALL_METRICS);
        if (!bird) continue;
        bird.info = infoOf(seen);
        bird.status = options.birdStatusLabel(seen.status);
      }
    },
    flightStarted(place) {
      const bird = find(place, ['started', 'flights']);
      if (bird) bird.started += 1;
    },
    flightEnded(place, status, atUs) {
      const bird = find(place, ['ended', 'flights']);
      if (!bird) return;
      if (!statuses.includes(status)) statuses.push(status);
      const at = statuses.indexOf(status);
      bird.ended[at] = (bird.ended[at] ?? 0) + 1;
      if (status === 'failed') bird.lastFailureUs = Math.max(bird.lastFailureUs, atUs);
    },
    flightsActive(place, count) {
      const bird = find(place, ['active']);
      if (bird) bird.active = count;
    },
    *write(isOpenMetrics, nowUs) {
      const known = {
        birdStatuses: new Map(birdStatuses.map((status) => [status, statusLabel(status)])),
        endStatuses: statuses.map(statusLabel),
      };
      const shown = shownAt(nowUs);
      for (const metric of ALL_METRICS) {
        const { name, help, type } = BIRD_METRICS[metric];
        const family = isOpenMetrics && type === 'counter' ? name.replace(/_total$/, '') : name;
        let part = `# HELP ${family} ${help}\n# TYPE ${family} ${type}\n`;
        const begin = `${name}{`;
        const writer = WRITERS[metric];
        for (const bird of shown) {
          part += writer(begin + bird.labels, bird, known);
          if (part.length < PART_LENGTH) continue;
          yield part;
          part = '';
        }
        yield part;
      }
    },
  };
}

const ALL_METRICS = Object.keys(BIRD_METRICS) as BirdMetric[];

/**
 * The lines of one metric of a Bird: `head` is its name and its labels up to where more may come. Lines are put together
 * of few texts, since V8 makes a node of each two of them: to write those nodes, and to walk over them, is most of what
 * a scrape takes.
 */
type Writer = (head: string, bird: Bird, known: Known) => string;

/** What lines that tell statuses apart have behind their `head`, up to the number. */
interface Known {
  readonly birdStatuses: ReadonlyMap<string, string>;
  /** By the positions of the statuses. */
  readonly endStatuses: readonly string[];
}

const WRITERS: Readonly<Record<BirdMetric, Writer>> = {
  info: (head, { info }) => (info ? `${head},${info}} 1\n` : ''),
  status(head, { status }, { birdStatuses: known }) {
    if (!status) return '';
    let lines = '';
    for (const [one, label] of known) lines += head + label + number(one === status ? 1 : 0);
    return known.has(status) ? lines : lines + head + statusLabel(escaped(status)) + number(1);
  },
  started: (head, { started }) => head + NO_LABEL + number(started),
  ended: (head, bird, { endStatuses }) => endLines(head, bird, endStatuses),
  flights: (head, bird, { endStatuses }) =>
    endLines(head, bird, endStatuses) + head + ACTIVE + number(bird.started),
  active: (head, { active }) => head + NO_LABEL + number(active),
  lastFailure: (head, { lastFailureUs }) => head + NO_LABEL + number(lastFailureUs / 1e6),
};

function statusLabel(status: string): string {
  return `,status="${status}"} `;
}

const ACTIVE = statusLabel('active');
const NO_LABEL = '} ';

/** The rest of a line: its number. */
function number(value: number): string {
  return `${value}\n`;
}

function endLines(head: string, bird: Bird, endStatuses: readonly string[]): string {
  let lines = '';
  for (const [at, label] of endStatuses.entries()) {
    const count = bird.ended[at];
    if (count !== undefined) lines += head + label + number(count);
  }
  return lines;
}

function isFailing({ status, lastFailureUs }: Bird, nowUs: number): boolean {
  return status === 'suspended' || nowUs - lastFailureUs < FAILING_US;
}

function infoOf({ nest, bird, triggerType }: ObservedBird): string {
  const word = (text: string) => plainText(text, MAX_NAME_LENGTH);
  return labelsOf({ nest: word(nest), bird: word(bird), trigger_type: word(triggerType) });
}

/** Joined into one text: as a template it would keep a node of 32 bytes for each of its parts, for every Bird. */
function labelsOf(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.join(',');
}

/** As Prometheus' text wants the value of a label. */
function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}
