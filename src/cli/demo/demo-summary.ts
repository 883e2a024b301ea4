import type { TrueEvent } from '../../simulator/world/truth.ts';
import { howMany } from '../../text/counts.ts';
import { regionName } from '../../text/region-name.ts';
import type { DemoProgress } from './demo-progress.ts';

/** What the demo received, and what really happened at the simulated service. */
interface DemoFigures {
  readonly seconds: number;
  readonly regions: readonly {
    readonly region: string;
    readonly truth: readonly TrueEvent[];
    /** The names of alerts in the order in which they fired or were resolved. */
    readonly fired: readonly string[];
    readonly resolved: readonly string[];
  }[];
  readonly mails: number;
  readonly webhooks: number;
  /** Further calls that repeated an earlier id. */
  readonly webhooksAgain: number;
  readonly eventKeys: readonly string[];
  /** How far the daemon got with an event that was not received. */
  readonly progress: Pick<DemoProgress, 'of'>;
}

interface DemoSummary {
  readonly text: string;
  readonly lost: number;
  readonly repeated: number;
  readonly invented: number;
}

const WORDS = { unread: 'not read yet', read: 'read, not delivered yet' } as const;

/** The most events that are named one by one. */
const MOST_NAMED = 10;

export function summarise(figures: DemoFigures): DemoSummary {
  const received = new Set(figures.eventKeys);
  const truth = figures.regions.flatMap((region) => region.truth);
  const known = new Set(truth.map((event) => event.key));
  const missing = truth.filter((event) => !received.has(event.key));
  const untold = missing.flatMap((event) => {
    const state = figures.progress.of(event);
    return state === 'shown' ? [] : [`${event.key} (${WORDS[state]})`];
  });
  const lost = missing.length - untold.length;
  const repeated = figures.eventKeys.length - received.size;
  const invented = [...received].filter((key) => !known.has(key)).length;
  const lines = figures.regions.map(({ region, truth: events, fired, resolved }) => {
    const counts = `${events.length} events, ${fired.length} alerts fired, ${resolved.length} resolved`;
    return `  ${regionName(region)}  ${counts} (${[...new Set(fired)].join(', ') || 'none'})`;
  });
  const text = [
    `After ${figures.seconds} s:`,
    ...lines,
    `  ${figures.mails} mails and ${figures.webhooks} webhooks received`,
    `  ${lost} lost, ${repeated} repeated, ${invented} invented, checked against the simulated service's own truth`,
    ...(figures.webhooksAgain > 0
      ? [
          `  ${howMany(figures.webhooksAgain, 'webhook')} came again under the id of the first try, since its answer was late`,
        ]
      : []),
    ...(untold.length > 0 ? [`  ${howMany(untold.length, 'event')} not yet told:`] : []),
    ...untold.slice(0, MOST_NAMED).map((event) => `    ${event}`),
    ...(untold.length > MOST_NAMED ? [`    and ${untold.length - MOST_NAMED} more`] : []),
  ].join('\n');
  return { text, lost, repeated, invented };
}
