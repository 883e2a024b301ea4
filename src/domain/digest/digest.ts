/**
 * Builds a digest of a period. All figures are fixed when it is built, so that every attempt sends the same. Its
 * texts come from outside and are hostile until a format encodes them.
 */
import { howMany } from '../../text/instant-words.ts';
import type { Period } from '../../time/zone-format.ts';
import type { Guard } from '../action/action.ts';
import type { Alert, Ending, Labels } from '../alert/alert.ts';
import { flightWaiting, waitsOf } from '../kinds/flight-waiting.ts';
import { isMoment, kindOf } from '../kinds/kinds.ts';
import type { Outcomes } from '../statistics/deadlines.ts';
import type { FlightTally, Place } from './flight-tally.ts';

/** An alert from firing to resolved, as it is kept after the alert itself is deleted. */
export interface Episode {
  readonly alertId: string;
  readonly alertname: string;
  readonly labels: Labels;
  readonly startsAtUs: number;
  readonly endsAtUs: number;
  readonly events: number;
  /** Null if unknown. */
  readonly ending: Ending | null;
}

export interface OpenAlert {
  readonly alertname: string;
  readonly labels: Labels;
  readonly startsAtUs: number;
  /** Its id, among those still open; absent in older digests. */
  readonly id?: string;
  /** The sort of silence that mutes it now; absent if none does. */
  readonly hidden?: 'silenced' | 'acknowledged';
}

/** An alert of which a silence withheld something from people. */
interface SilencedAlert {
  readonly alertname: string;
  readonly labels: Labels;
  /** How often it ended, or fires now, while a silence muted it. */
  readonly times: number;
  /** Whether it fires and is silenced now. */
  readonly isOpen: boolean;
}

/**
 * Alerts that ended while a silence muted them, and how often; `total` counts all of them, even if only the first are
 * listed.
 */
export interface EndedSilenced {
  readonly list: readonly {
    readonly alertId: string;
    readonly alertname: string;
    readonly labels: Labels;
    readonly times: number;
  }[];
  readonly total: number;
}

export interface UnusualBird extends Place {
  readonly sort: 'slow' | 'fewer' | 'more';
  /** Sentences for people. */
  readonly text: string;
}

/** How reliable the watch of one region was. */
export interface Watch {
  readonly region: string;
  /** Nothing is missing until then; 0 if that is not known yet. */
  readonly verifiedUntilUs: number;
  /** What impaired it within the period: alert names with how long they fired. */
  readonly impaired: readonly { readonly alertname: string; readonly us: number; readonly isOpen: boolean }[];
}

/** How a Bird met its deadlines, of all rules. */
interface BirdOutcomes extends Outcomes, Pick<Place, 'region' | 'nest' | 'bird'> {}

/** Items listed per section. */
const DIGEST_LIST = 10;

/** What rules did to Birds. */
export interface Acted {
  readonly flown: number;
  /** Of the Flights that they started, those that succeeded. */
  readonly healed: number;
  /** How often they did not, and why. */
  readonly withheld: Partial<Record<Guard, number>>;
}

interface DigestMaterial {
  readonly name: string;
  readonly fromUs: number;
  readonly toUs: number;
  readonly tally: FlightTally;
  /** When what was read only within the period occurred, if that was before it. */
  readonly lateUs: ReadonlySet<number>;
  /** The alerts that fire. */
  readonly firing: readonly Alert[];
  /** The number of all firing alerts, even if only the first were loaded. */
  readonly firingTotal: number;
  /** Episodes that ended within the period. */
  readonly episodes: readonly Episode[];
  /** Which of the firing alerts are muted now, by id. */
  readonly hidden: ReadonlyMap<string, 'silenced' | 'acknowledged'>;
  readonly endedSilenced: EndedSilenced;
  /** Absent if they did nothing. */
  readonly acted?: Acted | undefined;
  readonly deadlines: readonly BirdOutcomes[];
  readonly unusual: readonly UnusualBird[];
  /** What was suppressed for the receiver, by reason. */
  readonly suppressed: readonly { readonly reason: string; readonly count: number }[];
  readonly dead: number;
  readonly regions: readonly { readonly region: string; readonly verifiedUntilUs: number }[];
}

/**
 * The most severe and longest firing come first among those open, the most frequent among the silenced, and the Birds
 * with the most deadlines missed, then late. `waiting` is absent if no Flight waits, what rules did if they did nothing.
 */
export type Digest = ReturnType<typeof digestOf>;

export function digestOf(material: DigestMaterial) {
  const { name, fromUs, toUs, firing, episodes, acted } = material;
  const flights = material.tally.result(DIGEST_LIST);
  const lasting = firing.filter((alert) => !isMoment(alert));
  const open = lasting.toSorted(byUrgency).map((alert) => {
    const hidden = material.hidden.get(alert.id);
    return { ...shown(alert), id: alert.id, ...(hidden !== undefined && { hidden }) };
  });
  const silenced = silencedOf(material);
  const recoveries = episodes.filter((one) => isRecovery(one) && !isMoment(one));
  const isNew = ({ startsAtUs }: OpenAlert) => startsAtUs >= fromUs || material.lateUs.has(startsAtUs);
  const began = [...firing, ...episodes].filter(isNew).sort(byStart);
  const of = (alertname: string) => distinct(began.filter((one) => one.alertname === alertname).map(shown));
  const connectionsLost = of('ConnectionDisconnected');
  const deactivated = of('BirdDeactivated');
  return {
    name,
    fromUs,
    toUs,
    flights,
    open: open.slice(0, DIGEST_LIST),
    openTotal: material.firingTotal,
    ...waitingOf(firing, toUs),
    recovered: {
      alerts: recoveries.length,
      meanUs:
        recoveries.length === 0
          ? 0
          : Math.round(
              recoveries.reduce((sum, one) => sum + one.endsAtUs - one.startsAtUs, 0) / recoveries.length,
            ),
    },
    ...(acted && { acted }),
    connectionsLost: connectionsLost.slice(0, DIGEST_LIST),
    connectionsLostTotal: connectionsLost.length,
    deactivated: deactivated.slice(0, DIGEST_LIST),
    deactivatedTotal: deactivated.length,
    silenced: silenced.list.slice(0, DIGEST_LIST),
    silencedTotal: silenced.total,
    deadlines: material.deadlines.toSorted(byMissed).slice(0, DIGEST_LIST),
    deadlinesTotal: material.deadlines.length,
    unusual: material.unusual.slice(0, DIGEST_LIST),
    unusualTotal: material.unusual.length,
    // What throttling holds back is sent later.
    suppressed: material.suppressed.filter(({ reason }) => reason !== 'receiver_cap'),
    dead: material.dead,
    watch: material.regions.map(({ region, verifiedUntilUs }) => ({
      region,
      verifiedUntilUs,
      impaired: impairedOf(region, material),
    })),
  };
}

function byMissed(a: BirdOutcomes, b: BirdOutcomes): number {
  return b.missed - a.missed || b.late - a.late || b.latestUs - a.latestUs;
}

/** Of the Flights that FlightWaiting alerts are about: how long they have waited, and the labels of the longest. */
function waitingOf(firing: readonly Alert[], toUs: number) {
  const waits = firing
    .filter(({ alertname }) => alertname === flightWaiting.name)
    .flatMap((alert) => waitsOf(alert).map(({ sinceUs }) => ({ us: toUs - sinceUs, labels: alert.labels })))
    .sort((a, b) => b.us - a.us);
  const [longest] = waits;
  if (!longest) return {};
  const medianUs = waits[waits.length >> 1]!.us;
  return {
    waiting: { flights: waits.length, medianUs, longestUs: longest.us, longest: longest.labels },
  };
}

/** Whether it ended because its end was observed or somebody resolved it. */
export function isRecovery({ ending }: Episode): boolean {
  return ending === 'over' || ending === 'by_hand';
}

/** Whether nothing happened that anybody would want to read about. */
export function isEmpty({ flights, openTotal, recovered, ...rest }: Digest): boolean {
  const counts = [flights.failed, openTotal, recovered.alerts, rest.suppressed.length, rest.dead];
  const more = [
    rest.connectionsLostTotal,
    rest.deactivatedTotal,
    rest.silencedTotal,
    ...rest.deadlines.map(({ late, missed }) => late + missed),
    rest.unusualTotal,
    ...rest.watch.map((one) => one.impaired.length),
  ];
  return [...counts, ...more].every((count) => count === 0);
}

/** `Daily: 12 Flights failed, 3 alerts open`: the digest in one line, without the name. */
export function digestTitle({ flights, openTotal }: Digest): string {
  const { failed } = flights;
  const failures = failed === 0 ? 'no Flight failed' : `${howMany(failed, 'Flight')} failed`;
  const open = openTotal === 0 ? 'nothing open' : `${howMany(openTotal, 'alert')} open`;
  return `${failures}, ${open}`;
}

/** How long at least one of them lasted within the period. */
export function spanUs(
  episodes: readonly Pick<Episode, 'startsAtUs' | 'endsAtUs'>[],
  { fromUs, untilUs }: Period,
): number {
  let us = 0;
  let reachedUs = fromUs;
  for (const { startsAtUs, endsAtUs } of episodes.toSorted((a, b) => a.startsAtUs - b.startsAtUs)) {
    us += Math.max(0, Math.min(endsAtUs, untilUs) - Math.max(startsAtUs, reachedUs));
    reachedUs = Math.max(reachedUs, Math.min(endsAtUs, untilUs));
  }
  return us;
}

function impairedOf(region: string, { firing, episodes, fromUs, toUs }: DigestMaterial): Watch['impaired'] {
  const here = (one: { alertname: string; labels: Labels }) =>
    kindOf(one.alertname)?.impairsWatch === true && [region, 'all'].includes(one.labels.region ?? '');
  const lasted = [
    ...episodes.filter(here).map((one) => ({ ...one, isOpen: false })),
    ...firing.filter(here).map((one) => ({ ...one, endsAtUs: toUs, isOpen: true })),
  ];
  return [...Map.groupBy(lasted, ({ alertname }) => alertname)]
    .map(([alertname, all]) => ({
      alertname,
      us: spanUs(all, { fromUs, untilUs: toUs }),
      isOpen: all.some(({ isOpen }) => isOpen),
    }))
    .sort((a, b) => b.us - a.us);
}

/**
 * What ended under a silence, and what fires under one. Acknowledged alerts do not count, since somebody knows them.
 */
function silencedOf({ firing, hidden, endedSilenced }: DigestMaterial): {
  readonly list: readonly SilencedAlert[];
  readonly total: number;
} {
  const open = firing.filter(({ id }) => hidden.get(id) === 'silenced');
  const isOpen = new Set(open.map(({ id }) => id));
  const known = new Set(endedSilenced.list.map(({ alertId }) => alertId));
  const others = open.filter(({ id }) => !known.has(id));
  const list = [
    ...endedSilenced.list.map(({ alertId, alertname, labels, times }) => ({
      alertname,
      labels,
      times: times + Number(isOpen.has(alertId)),
      isOpen: isOpen.has(alertId),
    })),
    ...others.map(({ alertname, labels }) => ({ alertname, labels, times: 1, isOpen: true })),
  ];
  return { list: list.toSorted((a, b) => b.times - a.times), total: endedSilenced.total + others.length };
}

function shown({ alertname, labels, startsAtUs }: OpenAlert): OpenAlert {
  return { alertname, labels, startsAtUs };
}

const byStart = (a: OpenAlert, b: OpenAlert) => a.startsAtUs - b.startsAtUs;
const isCritical = ({ labels }: OpenAlert) => Number(labels.severity === 'critical');
const byUrgency = (a: OpenAlert, b: OpenAlert) => isCritical(b) - isCritical(a) || byStart(a, b);

/** Each subject once, even if it was lost several times. */
function distinct(alerts: readonly OpenAlert[]): OpenAlert[] {
  const subject = ({ labels }: OpenAlert) =>
    JSON.stringify([labels.region, labels.nest_id, labels.bird_id, labels.entity_id, labels.entity_name]);
  return [...new Map(alerts.map((one) => [subject(one), one])).values()];
}
