/**
 * Checks that what messages say about why a Flight failed is true, by what really happened. What was shown late need not have
 * been known when a message was queued, so a sentence is true if it was at any instant before the message arrived.
 */
import { signature } from '../../src/domain/alert/error-signature.ts';
import { ANNOTATION_OF, whoActs } from '../../src/domain/context/findings.ts';
import type { EntryRecord, FlightRecord } from '../../src/simulator/world/simulated-record.ts';
import type { TrueEvent } from '../../src/simulator/world/truth.ts';
import type { World } from '../../src/simulator/world/world.ts';
import { durationWords } from '../../src/text/instant-words.ts';
import { MINUTE_US } from './expected.ts';
import type { Find } from './finding.ts';
import type { ToldAlert } from './receivers.ts';
import type { Remains } from './run.ts';

/** Instants are shown to the second at worst. */
const ROUNDED_US = 1_000_000;
/** What was shown so shortly before need not have been read. */
const READ_US = 15 * MINUTE_US;

const CHANGED =
  /^(published|activated)(?: by (\S+))? (\S+ \S+) before the first failed Flight started(?:, the last of \d+ changes)?; (.*)$/;

/** How often each sentence was said, by its annotation. */
export function checkContext({ worlds, receivers }: Remains, find: Find): Record<string, number> {
  const said: Record<string, number> = {};
  const annotations = Object.values(ANNOTATION_OF);
  for (const { alerts, atUs, inbox } of receivers.arrivals) {
    for (const alert of inbox === 'hook' ? alerts : []) {
      const world = worlds.find(({ region }) => region === alert.labels.region);
      if (!world || alert.status !== 'firing' || alert.labels.alertname !== 'FlightFailed') continue;
      for (const name of annotations) {
        const text = alert.annotations[name];
        if (text === undefined) continue;
        said[name] = (said[name] ?? 0) + 1;
        if (!IS_TRUE[name](text, alert, world, atUs)) {
          find('unexplained', `${name} is not true`, `${alert.labels.bird_id} at ${atUs}: ${text}`);
        }
      }
    }
  }
  return said;
}

type IsTrue = (text: string, alert: ToldAlert, world: World, atUs: number) => boolean;

const IS_TRUE: Readonly<Record<(typeof ANNOTATION_OF)[keyof typeof ANNOTATION_OF], IsTrue>> = {
  changed_before(text, { labels }, world, atUs) {
    const [, what = '', who = '', long, flown = ''] = CHANGED.exec(text) ?? [];
    const type = what === 'published' ? 'Published' : 'Activated';
    const logs = world.birds.get(labels.bird_id ?? '')?.logs ?? [];
    // The service may keep to itself who it was.
    const isOfOther = ({ fields }: EntryRecord) => who !== '' && String(fields.initiator ?? '') !== who;
    const others = new Set(logs.filter(isOfOther).map(({ id }) => `${world.region}/bird_log/${id}`));
    // Those that were deleted happened all the same; nothing says any more who made them.
    const changedUs = eventsOf(world, `bird_log.${type}`)
      .filter((one) => one.birdId === labels.bird_id && !others.has(one.key))
      .map(({ occurredAtUs }) => occurredAtUs);
    // An entry that the service shows again later, under its id, is no new event, but says when that was.
    const againUs = logs
      .filter((one) => one.raw !== undefined && one.fields.eventType === type && !isOfOther(one))
      .map(({ createdAtUs }) => createdAtUs);
    const flights = flightsOf(world, labels.bird_id, atUs);
    const cutoffs = flights.flatMap(({ flight }) => flight.ends.map((_, at) => shownUs(flight, at)));
    return [...changedUs, ...againUs].some((occurredAtUs) =>
      flights.some(
        ({ flight, status }) =>
          status === 'failed' &&
          lasts(flight.startedAtUs - occurredAtUs, long) &&
          cutoffs.some((us) => isGuilty(flights, occurredAtUs, us, flown)),
      ),
    );
  },

  seen_before(text, { labels }, world, atUs) {
    const failures = failuresWith(world, labels.error, atUs).toSorted((a, b) => a.us - b.us);
    if (!text.startsWith('new: ')) return failures.length > 1;
    const own = failures.filter(({ flight }) => flight.birdId === labels.bird_id);
    return own.some(({ us }) => failures.every((other) => other.us >= us - READ_US));
  },

  who_acts(text, { labels }, world, atUs) {
    const at = ['None', 'CorePlatform', 'PluginApplication', 'PluginMisconfiguration', 'PluginUnhandled'];
    const types = [...at, 'RequestTimeOut', 'OutOfMemory', 'FileSizeLimit'];
    return flightsOf(world, labels.bird_id, atUs).some(({ flight }) =>
      flight.ends.some(({ failedStep }) => whoActs(types[failedStep.errorType] ?? '') === text),
    );
  },

  also_failing(text, { labels }, world, atUs) {
    const [, names = ''] = /^also failing with this error: (.*?)(?: and \d+ more Birds?)?$/.exec(text) ?? [];
    const failing = new Set(
      failuresWith(world, labels.error, atUs)
        .filter(({ flight }) => flight.birdId !== labels.bird_id)
        .map(({ flight }) => flight.birdId),
    );
    return names !== '' && names.split(', ').length <= failing.size;
  },

  connection_lost(text, { labels }, world, atUs) {
    const [, ofNest, long] = / (of this Nest )?was lost (\S+ \S+) before$/.exec(text) ?? [];
    const flights = flightsOf(world, labels.bird_id, atUs);
    return eventsOf(world, 'notification.ConnectionDisconnected').some(
      (lost) =>
        (ofNest === undefined || lost.nestId === labels.nest_id) &&
        flights.some(({ flight }) => lasts(flight.startedAtUs - lost.occurredAtUs, long)),
    );
  },
};

function eventsOf(world: World, type: string): TrueEvent[] {
  return world.truth().events.filter((event) => event.type === type);
}

interface Ended {
  readonly flight: FlightRecord;
  readonly status: string;
  readonly us: number;
}

/** From when on the end could be read. */
function shownUs({ ends, visibleAtUs }: FlightRecord, at: number): number {
  return Math.max(ends[at]!.endedAtUs, visibleAtUs);
}

function flightsOf(world: World, birdId: string | undefined, atUs: number): Ended[] {
  return [...world.flights.values()]
    .filter((flight) => flight.birdId === birdId)
    .flatMap((flight) =>
      flight.ends.map((end, at) => ({ flight, status: end.status, us: shownUs(flight, at) })),
    )
    .filter(({ us }) => us <= atUs);
}

function failuresWith(world: World, error: string | undefined, atUs: number): Ended[] {
  return [...world.birds.keys()].flatMap((birdId) =>
    flightsOf(world, birdId, atUs).filter(
      ({ flight, status }) =>
        status === 'failed' &&
        flight.ends.some(({ errorMessages }) => errorMessages === '' || signature(errorMessages) === error),
    ),
  );
}

/** By what could be read at this instant, no Flight has succeeded since the change, and the one before it did. */
function isGuilty(flights: readonly Ended[], changedUs: number, us: number, flown: string): boolean {
  const known = flights
    .filter((one) => one.us <= us && one.status !== 'cancelled')
    .toSorted((a, b) => a.flight.startedAtUs - b.flight.startedAtUs);
  if (known.some((one) => one.status === 'succeeded' && one.flight.startedAtUs > changedUs + ROUNDED_US))
    return false;
  const before = known.findLast(({ flight }) => flight.startedAtUs <= changedUs + ROUNDED_US);
  return flown.startsWith('it had not flown before') ? true : before?.status === 'succeeded';
}

function lasts(us: number, words: string | undefined): boolean {
  return [-ROUNDED_US, 0, ROUNDED_US].some(
    (off) => durationWords((us + off) / 1000, 'one unit') === words && us + off >= 0,
  );
}
