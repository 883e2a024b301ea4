/** Flights and Birds that are to be judged overdue, with their places. */
import type { Place } from '../../domain/alert/fact.ts';
import type { BirdToJudge, FlightToJudge } from '../overdue-store.ts';

interface PlaceRow {
  readonly region: string;
  readonly nest_id: string | null;
  readonly nest: string | null;
  readonly bird_id: string;
  readonly bird: string | null;
}

export interface FlightToJudgeRow extends PlaceRow {
  readonly stream: number;
  readonly id: string;
  readonly started_us: number;
}

export interface BirdToJudgeRow extends PlaceRow {
  readonly trigger_type: string;
  readonly status_since_us: number;
  readonly first_status: number;
  readonly stream: number | null;
  readonly cursor_us: number | null;
}

export function flightToJudge(row: FlightToJudgeRow): FlightToJudge {
  return { stream: row.stream, flightId: row.id, startedAtUs: row.started_us, place: placeOf(row) };
}

export function birdToJudge(row: BirdToJudgeRow): BirdToJudge {
  return {
    place: placeOf(row),
    triggerType: row.trigger_type,
    statusSinceUs: row.status_since_us,
    hasFirstStatus: row.first_status === 1,
    stream: row.stream ?? undefined,
    lastStartUs: row.cursor_us ?? 0,
  };
}

function placeOf(row: PlaceRow): Place {
  const { region, bird_id: birdId, nest_id: nestId, nest, bird } = row;
  return { region, nestId: nestId ?? '', nest: nest ?? '', birdId, bird: bird ?? '' };
}
