import type { EndedSilenced, Episode } from '../../domain/digest/digest.ts';
import type { EndedFlight } from '../../domain/digest/flight-tally.ts';
import { beginningOf } from '../texts/text-beginning.ts';
import { readBody } from './event-row.ts';

/** The event of a Flight's end. */
export interface EndedFlightRow {
  readonly event: number;
  readonly occurred_us: number;
  readonly type: string;
  readonly region: string;
  readonly message: string;
  readonly body: string;
}

/** The part of a message from which its signature is made. */
export const MAX_SIGNED_MESSAGE = 16_384;

export function endedFlightOf(row: EndedFlightRow): EndedFlight & { readonly number: number } {
  const { attributes, nestId, nest, birdId, bird } = readBody(row.body);
  const { duration_seconds: seconds } = attributes;
  return {
    number: row.event,
    occurredAtUs: row.occurred_us,
    status: row.type.slice('flight.'.length) as EndedFlight['status'],
    region: row.region,
    nest,
    nestId,
    bird,
    birdId,
    message: beginningOf(row.message, MAX_SIGNED_MESSAGE),
    durationUs: typeof seconds === 'number' ? Math.round(seconds * 1e6) : null,
  };
}

/** An alert of which ends were suppressed, with its last episode or, if it has none, the alert itself. */
export interface EndedSilencedRow {
  readonly alert_id: string;
  readonly times: number;
  /** How many such alerts there are. */
  readonly total: number;
  readonly body: string | null;
}

export function endedSilencedOf(rows: readonly EndedSilencedRow[]): EndedSilenced {
  const list = rows.map(({ alert_id: alertId, times, body }) => {
    const { alertname = '', labels = {} } = JSON.parse(body ?? '{}') as Partial<Episode>;
    return { alertId, alertname, labels, times };
  });
  return { list, total: rows[0]?.total ?? 0 };
}
