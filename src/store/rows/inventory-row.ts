import type { BirdRecord, NestRecord } from '../inventory-store.ts';

/** A row of `nest`. */
export interface NestRow {
  readonly region: string;
  readonly nest_id: string;
  readonly name: string;
  readonly present: number;
}

/** A row of `bird`. */
export interface BirdRow extends NestRow {
  readonly bird_id: string;
  readonly status: string;
  readonly trigger_type: string;
  readonly status_since_us: number;
  readonly first_status: number;
  readonly news_since_us: number;
}

export function nestOf(row: NestRow): NestRecord {
  return { region: row.region, nestId: row.nest_id, name: row.name, present: row.present === 1 };
}

export function birdOf(row: BirdRow): BirdRecord {
  return {
    region: row.region,
    birdId: row.bird_id,
    nestId: row.nest_id,
    name: row.name,
    status: row.status,
    triggerType: row.trigger_type,
    present: row.present === 1,
    statusSinceUs: row.status_since_us,
    ...(row.first_status === 1 && { hasFirstStatus: true }),
    ...(row.news_since_us !== 0 && { newsSinceUs: row.news_since_us }),
  };
}
