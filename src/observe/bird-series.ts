/**
 * Keeps and writes the series of single Birds, and keeps those of single Nests (below). They follow the inventory: a Bird has them from its first sight, at 0
 * where nothing has happened yet in this process (the last failure is known from earlier ones), until it vanishes.
 * Each region has room for a limited number of Birds, so that a scrape stays fast and a large region takes nothing
 * from another. Birds beyond that still count in all other metrics, and `dropped` is called for each series left out.
 * With `failing`, only Birds that are failing take up room.
 *
 * With ten thousand Birds these are a hundred times as many series as all others together. The metrics library would
 * need an object and a lookup for each. Here one object holds a whole Bird, and its lines are written during a
 * scrape, in parts, between which the event loop turns. Labels that the Birds of a Nest share are kept once for the
 * Nest, and a Bird's own are the inventory's strings unless they have to be cleaned or escaped.
 */
import type { ObservedBird } from '../report.ts';
import { plainText } from '../text/plain-text.ts';
import type { Instruments } from './instruments.ts';
import { BIRD_METRICS } from './metric-catalogue.ts';

/** The Birds whose series are shown. `failing`: those with a failed Flight within a day, and suspended ones. */
export type ShownBirds = 'all' | 'failing' | 'none';

type BirdMetric = keyof typeof BIRD_METRICS;

interface BirdSeriesOptions {
  readonly shown: ShownBirds;
  /** The most Birds shown for each region. */
  readonly birdsPerRegion: () => number;
  /** The most Birds counted for each region: any of them may start failing and be shown. */
  readonly knownPerRegion: () => number;
  readonly birdStatuses: readonly string[];
  readonly endStatuses: readonly string[];
  /** Turns a status that the service invents into a safe label. */
  readonly birdStatusLabel: (status: string) => string;
  /** When a Flight of the Bird last failed before this process started; 0 for never. */
  readonly lastFailureUs: (region: string, birdId: string) => number;
  readonly dropped: (metric: BirdMetric) => void;
}

export interface BirdSeries {
  inventory(region: string, birds: readonly ObservedBird[]): void;
  flightStarted(place: BirdPlace): void;
  /** `status` must be a safe label. */
  flightEnded(place: BirdPlace, status: string, atUs: number): void;
  flightsActive(place: BirdPlace, count: number): void;
  /** Writes all series in Prometheus' text format or OpenMetrics, in parts of about `PART_LENGTH`. */
  write(isOpenMetrics: boolean, nowUs: number): Generator<string>;
}

interface BirdPlace {
  readonly region: string;
  readonly nestId: string;
  readonly birdId: string;
}

/** All its texts are values of labels, already escaped. */
interface Nest {
  readonly region: string;
  readonly id: string;
  name: string;
}

/** Its texts are escaped as well. */
interface Bird {
  readonly nest: Nest;
  readonly id: string;
  /** Undefined until the inventory was read. */
  name: string | undefined;
  triggerType: string;
  status: string;
  started: number;
  /** Counts by the position of the status in `statuses`; absent if none of its Flights ended so. */
  readonly ended: number[];
  active: number;
  lastFailureUs: number;
}

/** Nests and Birds by their ids. */
interface Region {
  readonly nests: Map<string, Nest>;
  readonly birds: Map<string, Bird>;
}

const MAX_NAME_LENGTH = 120;
const FAILING_US = 86_400e6;
/** Characters of text written in one turn of the event loop; takes about half a millisecond. */
export const PART_LENGTH = 262_144;

export function createBirdSeries(options: BirdSeriesOptions): BirdSeries {
  const { birdsPerRegion, dropped, birdStatuses, endStatuses } = options;
  const keptPerRegion = options.shown === 'failing' ? options.knownPerRegion : birdsPerRegion;
  /** The known ways in which Flights end, then any others seen. */
  const statuses = [...endStatuses];
  const regions = new Map<string, Region>();

  function regionOf(name: string): Region {
    const region = regions.get(name) ?? { nests: new Map(), birds: new Map() };
    regions.set(name, region);
    return region;
  }

  function nestOf(region: string, nestId: string): Nest {
    const { nests } = regionOf(region);
    const nest = nests.get(nestId) ?? { region: escaped(region), id: escaped(nestId), name: '' };
    nests.set(nestId, nest);
    return nest;
  }

  /** The Bird, created at first sight; undefined when its region is full. */
  function keep({ region, nestId, birdId }: BirdPlace): Bird | undefined {
    const { birds } = regionOf(region);
    const known = birds.get(birdId);
    if (known) return known;
    if (birds.size >= keptPerRegion()) return undefined;
    const made: Bird = {
      nest: nestOf(region, nestId),
      id: escaped(birdId),
      name: undefined,
      triggerType: '',
      status: '',
      started: 0,
      ended: endStatuses.map(() => 0),
      active: 0,
      lastFailureUs: options.lastFailureUs(region, birdId),
    };
    birds.set(birdId, made);
    return made;
  }

  /** The Bird to count for; undefined if it has no series. */
  function find(place: BirdPlace, metrics: readonly BirdMetric[]): Bird | undefined {
    if (options.shown === 'none') return undefined;
    const bird = keep(place);
    if (!bird) for (const metric of metrics) dropped(metric);
    return bird;
  }

  /** The Birds shown now, up to the limit of each region. */
  function shownAt(nowUs: number): readonly Bird[] {
    const isShown = options.shown === 'failing' ? (bird: Bird) => isFailing(bird, nowUs) : () => true;
    return [...regions.values()].flatMap(({ birds }) => {
      const all = [...birds.values()].filter(isShown);
      for (const _ of all.slice(birdsPerRegion())) for (const metric of ALL_METRICS) dropped(metric);
      return all.slice(0, birdsPerRegion());
    });
  }

  return {
    inventory(region, listed) {
      const { nests, birds } = regionOf(region);
      const names = new Map(listed.map(({ nestId, nest }) => [nestId, nest]));
      for (const nestId of nests.keys()) if (!names.has(nestId)) nests.delete(nestId);
      for (const [nestId, name] of names) nestOf(region, nestId).name = word(name);
      const nestOfBird = new Map(listed.map(({ birdId, nestId }) => [birdId, nests.get(nestId)]));
      for (const [birdId, { nest }] of birds) {
        // A Bird that moved to another Nest gets other labels, so its series begin anew.
        if (nestOfBird.get(birdId) !== nest) birds.delete(birdId);
      }
      for (const seen of listed) {
        const bird = find({ region, ...seen }, ALL_METRICS);
        if (!bird) continue;
        bird.name = word(seen.bird);
        bird.triggerType = word(seen.triggerType);
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
      const nests = new Set(shown.map(({ nest }) => nest));
      for (const metric of ALL_METRICS) {
        const { name, help, type } = BIRD_METRICS[metric];
        const family = isOpenMetrics && type === 'counter' ? name.replace(/_total$/, '') : name;
        let part = `# HELP ${family} ${help}\n# TYPE ${family} ${type}\n`;
        const writer = WRITERS[metric];
        const heads = new Map([...nests].map((nest) => [nest, headOf(name, nest)]));
        for (const bird of shown) {
          part += writer(heads.get(bird.nest)! + bird.id, bird, known);
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
 * Writes the lines of one metric of a Bird. `head` is the metric's name and labels, up to the Bird's id without the
 * closing quote. Lines are concatenated from few strings: V8 creates a node for each concatenation, and creating and
 * walking those nodes is most of a scrape's cost.
 */
type Writer = (head: string, bird: Bird, known: Known) => string;

/** The part of a line between `head` and the number, for metrics with a status label. */
interface Known {
  readonly birdStatuses: ReadonlyMap<string, string>;
  /** By position of the status. */
  readonly endStatuses: readonly string[];
}

const WRITERS: Readonly<Record<BirdMetric, Writer>> = {
  info(head, { name, triggerType, nest }) {
    if (name === undefined) return '';
    return `${head}",nest="${nest.name}",bird="${name}",trigger_type="${triggerType}"} 1\n`;
  },
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
  return `",status="${status}"} `;
}

const ACTIVE = statusLabel('active');
const NO_LABEL = '"} ';

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

/** Flat, because every line that begins with it walks its nodes. */
function headOf(name: string, nest: Nest): string {
  return [name, '{region="', nest.region, '",nest_id="', nest.id, '",bird_id="'].join('');
}

/** A text from the service as the value of a label. */
function word(text: string): string {
  return escaped(plainText(text, MAX_NAME_LENGTH));
}

/** Escapes a label's value for Prometheus' text format. */
function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

// Keeps the series of single Nests. They follow the inventory as those of Birds do, and count all Birds, even those
// without series of their own. Each region has room for a limited number of Nests.

type NestMetric = 'nestInfo' | 'nestFlightsEnded' | 'flightDuration';

interface NestSeriesOptions {
  readonly metrics: Pick<Instruments, NestMetric>;
  readonly nestsPerRegion: () => number;
  readonly endStatuses: readonly string[];
  readonly dropped: (metric: NestMetric) => void;
}

interface FlightEnd {
  readonly region: string;
  readonly nestId: string;
  /** Must be a safe label. */
  readonly status: string;
  /** Undefined if unknown. */
  readonly seconds: number | undefined;
  readonly exemplar: Readonly<Record<string, string>>;
}

interface NestSeries {
  inventory(region: string, birds: readonly ObservedBird[]): void;
  flightEnded(end: FlightEnd): void;
}

/** What is shown of one CountedNest, so that it can be removed. */
interface CountedNest {
  name: string | undefined;
  readonly statuses: Set<string>;
}

export function createNestSeries(options: NestSeriesOptions): NestSeries {
  const { metrics, nestsPerRegion, endStatuses, dropped } = options;
  const regions = new Map<string, Map<string, CountedNest>>();

  function nestsOf(region: string): Map<string, CountedNest> {
    const nests = regions.get(region) ?? new Map<string, CountedNest>();
    regions.set(region, nests);
    return nests;
  }

  /** The CountedNest, created at first sight; undefined when its region is full. */
  function show(region: string, nestId: string): CountedNest | undefined {
    const nests = nestsOf(region);
    const known = nests.get(nestId);
    if (known || nests.size >= nestsPerRegion()) return known;
    const labels = { region, nest_id: nestId };
    for (const status of endStatuses) metrics.nestFlightsEnded.inc({ ...labels, status }, 0);
    metrics.flightDuration.zero(labels);
    const nest = { name: undefined, statuses: new Set(endStatuses) };
    nests.set(nestId, nest);
    return nest;
  }

  function hide(region: string, nestId: string, { name, statuses }: CountedNest): void {
    const labels = { region, nest_id: nestId };
    for (const status of statuses) metrics.nestFlightsEnded.remove({ ...labels, status });
    metrics.flightDuration.remove(labels);
    if (name !== undefined) metrics.nestInfo.remove({ ...labels, nest: name });
    nestsOf(region).delete(nestId);
  }

  function rename(region: string, nestId: string, nest: CountedNest, given: string): void {
    const name = plainText(given, MAX_NAME_LENGTH);
    const labels = { region, nest_id: nestId };
    if (nest.name !== undefined && nest.name !== name)
      metrics.nestInfo.remove({ ...labels, nest: nest.name });
    metrics.nestInfo.set({ ...labels, nest: name }, 1);
    nest.name = name;
  }

  return {
    inventory(region, birds) {
      const listed = new Map(birds.map(({ nestId, nest }) => [nestId, nest]));
      for (const [nestId, nest] of [...nestsOf(region)]) {
        if (!listed.has(nestId) || nestsOf(region).size > nestsPerRegion()) hide(region, nestId, nest);
      }
      for (const [nestId, name] of listed) {
        const nest = show(region, nestId);
        if (nest) rename(region, nestId, nest, name);
        else
          for (const metric of ['nestInfo', 'nestFlightsEnded', 'flightDuration'] as const) dropped(metric);
      }
    },
    flightEnded({ region, nestId, status, seconds, exemplar }) {
      const nest = show(region, nestId);
      if (!nest) {
        dropped('nestFlightsEnded');
        dropped('flightDuration');
        return;
      }
      const labels = { region, nest_id: nestId };
      nest.statuses.add(status);
      metrics.nestFlightsEnded.inc({ ...labels, status });
      if (seconds === undefined) return;
      metrics.flightDuration.observe({ labels, value: seconds, exemplarLabels: exemplar });
    },
  };
}
