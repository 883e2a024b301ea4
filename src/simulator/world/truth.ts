/**
 * Lists what an accurate observer must have seen, under nestwatch's event keys. Tests for "nothing lost, nothing
 * invented" compare against it.
 */
import { parseInstant } from '../../time/instant.ts';
import { shownEventType } from './distort.ts';
import type { BirdStatus, EntryRecord, FlightRecord } from './simulated-record.ts';
import type { State } from './state.ts';

export interface TrueEvent {
  /** `eu/notification/<id>`, `eu/bird_log/<id>`, `eu/flight/<id>/failed`, with `#2` for a Flight's second end. */
  readonly key: string;
  readonly feed: 'notification' | 'bird_log' | 'flight';
  /** `notification.<eventType>`, `bird_log.<eventType>` or `flight.<status>`. */
  readonly type: string;
  readonly nestId: string;
  readonly birdId: string;
  readonly occurredAtUs: number;
  /** From when on it could be read. */
  readonly visibleAtUs: number;
  /**
   * Until when it could be read: it was deleted (alone or with its Bird), passed the retention, or the Flight was
   * reopened. An observer that did not look in between could not see it. Undefined while it is still there.
   */
  readonly goneAtUs: number | undefined;
}

interface TrueBird {
  readonly birdId: string;
  readonly nestId: string;
  readonly name: string;
  readonly status: BirdStatus;
  readonly deletedAtUs: number | undefined;
}

export interface Truth {
  /** Everything visible by now, each key once, in the order in which it became visible. */
  readonly events: readonly TrueEvent[];
  /** Entries written without a usable id or instant: nobody can give them a key. */
  readonly malformed: number;
  /** Every Bird that ever existed. */
  readonly birds: readonly TrueBird[];
}

export function truthOf(state: State): Truth {
  const nowUs = state.nowUs();
  const events = new Map<string, TrueEvent>();
  let malformed = 0;
  const goneOf = (birdId: string, occurredAtUs: number, ownUs: number | undefined): number | undefined => {
    const { retentionMs } = state.behaviours;
    const expiresUs = retentionMs > 0 ? occurredAtUs + retentionMs * 1000 : Number.POSITIVE_INFINITY;
    const instants = [ownUs, state.birds.get(birdId)?.deletedAtUs, expiresUs];
    const earliestUs = Math.min(...instants.map((us) => us ?? Number.POSITIVE_INFINITY));
    return earliestUs <= nowUs ? earliestUs : undefined;
  };
  const add = (event: TrueEvent) => {
    // What was gone before it became visible was never there for anybody.
    const wasThere = event.goneAtUs === undefined || event.goneAtUs > event.visibleAtUs;
    if (event.visibleAtUs <= nowUs && wasThere && !events.has(event.key)) events.set(event.key, event);
  };

  for (const entry of state.entries) {
    if (entry.visibleAtUs > nowUs) continue;
    const identity = identityOf(entry);
    if (!identity) {
      malformed += 1;
      continue;
    }
    add({
      key: `${state.region}/${entry.feed}/${identity.id}`,
      feed: entry.feed,
      type: `${entry.feed}.${identity.eventType ?? shownEventType(state.behaviours, entry)}`,
      nestId: entry.nestId,
      birdId: entry.fields.entityType === 'Flow' ? String(entry.fields.entityId) : entry.birdId,
      occurredAtUs: identity.createdAtUs,
      visibleAtUs: entry.visibleAtUs,
      goneAtUs: goneOf(entry.birdId, entry.createdAtUs, entry.deletedAtUs),
    });
  }
  for (const flight of state.flights.values()) {
    for (const event of endsOf(state.region, flight)) {
      const nestId = state.birds.get(flight.birdId)?.nestId ?? '';
      add({ ...event, nestId, goneAtUs: goneOf(flight.birdId, event.occurredAtUs, event.goneAtUs) });
    }
  }
  return {
    events: [...events.values()].sort((a, b) => a.visibleAtUs - b.visibleAtUs),
    malformed,
    birds: [...state.birds.values()].map(({ id, nestId, name, status, deletedAtUs }) => ({
      birdId: id,
      nestId,
      name,
      status,
      deletedAtUs,
    })),
  };
}

function endsOf(region: string, flight: FlightRecord): TrueEvent[] {
  return flight.ends.map((end, index) => ({
    key: `${region}/flight/${flight.id}/${end.status}${index > 0 ? `#${index + 1}` : ''}`,
    feed: 'flight' as const,
    type: `flight.${end.status}`,
    nestId: '',
    birdId: flight.birdId,
    occurredAtUs: end.endedAtUs,
    visibleAtUs: Math.max(end.visibleAtUs, flight.visibleAtUs),
    goneAtUs: end.reopenedAtUs,
  }));
}

interface Identity {
  readonly id: string;
  readonly createdAtUs: number;
  /** Set only by a raw override. */
  readonly eventType: string | undefined;
}

/** What a reader can know of the entry as written; undefined when it cannot be given a key. */
function identityOf({ id, createdAtUs, raw }: EntryRecord): Identity | undefined {
  if (raw === undefined) return { id, createdAtUs, eventType: undefined };
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return undefined;
  const over = raw as Readonly<Record<string, unknown>>;
  const shownId = 'id' in over ? over.id : id;
  const isId = typeof shownId === 'string' ? shownId.trim() !== '' : Number.isSafeInteger(shownId);
  const instant = 'createdAt' in over ? over.createdAt : undefined;
  const shownUs =
    'createdAt' in over ? (typeof instant === 'string' ? parseInstant(instant)?.us : undefined) : createdAtUs;
  if (!isId || shownUs === undefined) return undefined;
  return {
    id: String(shownId).trim(),
    createdAtUs: shownUs,
    eventType: 'eventType' in over ? String(over.eventType ?? '') : undefined,
  };
}
