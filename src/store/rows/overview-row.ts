/** Birds and Nests as lists show them, and their places in the order of these lists. */
import { type BirdOverview, type NestOverview, STANDINGS } from '../bird-store.ts';

export interface BirdOverviewRow {
  readonly region: string;
  readonly bird_id: string;
  readonly nest_id: string;
  readonly nest: string | null;
  readonly name: string;
  readonly status: string;
  readonly trigger_type: string;
  readonly present: number;
  readonly status_since_us: number;
  readonly last_us: number;
  readonly last_flight: string;
  readonly last_status: string;
  readonly firing: number;
  readonly trouble: number;
}

/** `latest`: the statuses of its last Flights, oldest first. */
export function birdOverviewOf(row: BirdOverviewRow, latest: readonly string[]): BirdOverview {
  return {
    region: row.region,
    birdId: row.bird_id,
    nestId: row.nest_id,
    nest: row.nest ?? '',
    name: row.name,
    status: row.status,
    triggerType: row.trigger_type,
    present: row.present === 1,
    statusSinceUs: row.status_since_us,
    standing: STANDINGS[row.trouble]!,
    firing: row.firing,
    ...(row.last_flight !== '' && {
      last: { flightId: row.last_flight, startedAtUs: row.last_us, status: row.last_status },
    }),
    latest,
  };
}

/** Those in trouble first, then those that flew last. */
export type BirdPlace = Pick<BirdOverviewRow, 'trouble' | 'last_us' | 'region' | 'bird_id'>;

export function birdPlaceOf(row: BirdPlace): (string | number)[] {
  return [row.trouble, row.last_us, row.region, row.bird_id];
}

export interface NestOverviewRow {
  readonly region: string;
  readonly nest_id: string;
  readonly name: string;
  readonly folded: string;
  readonly birds: number;
  readonly alerting: number;
  readonly failing: number;
  readonly off: number;
  readonly firing: number;
  readonly succeeded: number;
  readonly failed: number;
}

export function nestOverviewOf(row: NestOverviewRow): NestOverview {
  const { nest_id: nestId, name: nest, folded: _, ...counts } = row;
  return { ...counts, nestId, nest };
}

/** The worst first. */
export function nestPlaceOf(row: NestOverviewRow): (string | number)[] {
  return [-row.alerting, -row.failing, -row.off, row.folded, row.region, row.nest_id];
}
