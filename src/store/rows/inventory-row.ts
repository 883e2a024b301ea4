import type { BirdRecord, NestRecord } from '../inventory-store.ts';
import { type Flag, isSet } from './flag.ts';

/** A row of `nest`. */
export interface NestRow {
  readonly region: string;
  readonly nest_id: string;
  readonly name: string;
  readonly present: Flag;
}

/** A row of `bird`. */
export interface BirdRow extends NestRow {
  readonly bird_id: string;
  readonly status: string;
  readonly trigger_type: string;
  readonly status_since_us: number;
  readonly first_status: Flag;
  readonly news_since_us: number;
}

export function nestOf(row: NestRow): NestRecord {
  return { region: row.region, nestId: row.nest_id, name: row.name, present: isSet(row.present) };
}

export function birdOf(row: BirdRow): BirdRecord {
  return {
    region: row.region,
    birdId: row.bird_id,
    nestId: row.nest_id,
    name: row.name,
    status: row.status,
    triggerType: row.trigger_type,
    present: isSet(row.present),
    statusSinceUs: row.status_since_us,
    ...(isSet(row.first_status) && { hasFirstStatus: true }),
    ...(row.news_since_us !== 0 && { newsSinceUs: row.news_since_us }),
  };
}
