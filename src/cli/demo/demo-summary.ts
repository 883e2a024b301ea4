import type { TrueEvent } from '../../simulator/world/truth.ts';
import { howMany } from '../../text/counts.ts';
import { regionName } from '../../text/region-name.ts';

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
  /** Events that became visible after this were still on their way when the demo was stopped. */
  readonly underWaySinceUs: number;
}

interface DemoSummary {
  readonly text: string;
  readonly lost: number;
  readonly repeated: number;
  readonly invented: number;
}

export function summarise(figures: DemoFigures): DemoSummary {
  const received = new Set(figures.eventKeys);
  const truth = figures.regions.flatMap((region) => region.truth);
  const known = new Set(truth.map((event) => event.key));
  const missing = truth.filter((event) => !received.has(event.key));
  const underWay = missing.filter(({ visibleAtUs }) => visibleAtUs > figures.underWaySinceUs).length;
  const lost = missing.length - underWay;
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
    ...(underWay > 0 ? [`  ${howMany(underWay, 'event')} still under way when it was stopped`] : []),
  ].join('\n');
  return { text, lost, repeated, invented };
}
