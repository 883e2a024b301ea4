/** Actions that write Bird logs and notifications, and change the Bird's status accordingly. */
import { NestwatchError } from '../../errors.ts';
import { type BirdRecord, type BirdStatus, createdAtOf, type EntryRecord } from './simulated-record.ts';
import { addEntry, type Bird, type Entry, remove, type State } from './state.ts';
import { CONNECTION_LOST, DEACTIVATED, EVENT_ERROR } from './vocabulary.ts';

/** This many trigger failures in a row deactivate a Bird. */
const EVENT_ERRORS_TO_DEACTIVATE = 5;

/** An entry as a test specifies it. */
interface RawEntry {
  /** Fields as the specification names them; those omitted take a plain value. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Overrides the finished entry: a record key by key (undefined removes a key), anything else as a whole. */
  readonly raw?: unknown;
  readonly createdAtUs?: number;
  /** Now by default; an entry created earlier is then late. */
  readonly visibleAtUs?: number;
}

interface LostConnection {
  /** Without one the notification concerns the whole organisation. */
  readonly nestId?: string;
  /** A new connection by default. */
  readonly entityId?: string;
  readonly entityName?: string;
  readonly exhausted: boolean;
  readonly wording: 'old' | 'new';
}

interface EventErrorOptions {
  readonly message?: string;
  readonly eventFailedBy?: 'Subscription' | 'Unsubscription' | 'EventInvocation';
  readonly errorType?: string;
}

export function entryActions(state: State) {
  function log(bird: Bird, eventType: string, fields: Readonly<Record<string, unknown>>, raw: RawEntry = {}) {
    return addEntry(state, bird.logs, {
      ...raw,
      feed: 'bird_log',
      nestId: bird.nestId,
      birdId: bird.id,
      fields: { eventType, ...fields },
    });
  }

  function notify(nestId: string, fields: Readonly<Record<string, unknown>>, raw: RawEntry = {}) {
    return addEntry(state, state.notifications, { ...raw, feed: 'notification', nestId, birdId: '', fields });
  }

  function switched(
    birdId: string,
    eventType: string,
    status?: BirdStatus,
    initiator = [...state.users.values()].find((user) => user.isActive)?.email,
  ): Bird {
    const bird = birdOf(state, birdId);
    if (status) bird.status = status;
    log(bird, eventType, initiator === undefined ? {} : { initiator });
    return bird;
  }

  return {
    /** A failure of the Bird's trigger. The fifth in a row suspends an active Bird, logs `Deactivated` and notifies. */
    eventError(birdId: string, options: EventErrorOptions = {}): EntryRecord {
      const bird = birdOf(state, birdId);
      const entry = log(bird, 'EventError', {
        message: options.message ?? EVENT_ERROR,
        eventFailedBy: options.eventFailedBy ?? 'Subscription',
        errorType: options.errorType ?? 'PluginUnhandled',
      });
      bird.eventErrorsInARow += 1;
      if (bird.eventErrorsInARow >= EVENT_ERRORS_TO_DEACTIVATE && bird.status === 'active') {
        bird.status = 'suspended';
        log(bird, 'Deactivated', { message: DEACTIVATED });
        notify(bird.nestId, {
          entityId: Number(bird.id),
          entityName: bird.name,
          entityType: 'Flow',
          eventType: 'FlowDeactivated',
          message: DEACTIVATED,
        });
      }
      return entry;
    },
    disconnectConnection({
      nestId = '',
      entityId,
      entityName = 'Phrase TMS',
      exhausted,
      wording,
    }: LostConnection): EntryRecord {
      return notify(nestId, {
        entityId: Number(entityId ?? state.nextNumber()),
        entityName,
        entityType: 'Connection',
        eventType: 'ConnectionDisconnected',
        message: CONNECTION_LOST[wording][exhausted ? 'exhausted' : 'retrying'],
      });
    },
    /** A person activates the Bird; writes the Bird log. By default it is the first active User. */
    activate(birdId: string, initiator?: string): BirdRecord {
      const bird = switched(birdId, 'Activated', 'active', initiator);
      bird.eventErrorsInARow = 0;
      return bird;
    },
    suspend: (birdId: string, initiator?: string): BirdRecord =>
      switched(birdId, 'Suspended', 'suspended', initiator),
    /** A draft becomes active. */
    publish(birdId: string, initiator?: string): BirdRecord {
      const isDraft = birdOf(state, birdId).status === 'unpublished';
      return switched(birdId, 'Published', isDraft ? 'active' : undefined, initiator);
    },
    /** Turns the Bird into a draft again; the service logs nothing. */
    unpublish(birdId: string): BirdRecord {
      const bird = birdOf(state, birdId);
      bird.status = 'unpublished';
      return bird;
    },
    save: (birdId: string): BirdRecord => switched(birdId, 'Saved'),
    discard: (birdId: string): BirdRecord => switched(birdId, 'Discarded'),
    appendNotification({ nestId = '', ...entry }: RawEntry & { readonly nestId?: string } = {}): EntryRecord {
      const plain = {
        entityId: 1,
        entityName: 'Phrase TMS',
        entityType: 'Connection',
        eventType: 'ConnectionDisconnected',
        message: CONNECTION_LOST.new.exhausted,
      };
      return notify(nestId, { ...plain, ...entry.fields }, entry);
    },
    appendBirdLog: (birdId: string, entry: RawEntry = {}): EntryRecord =>
      log(birdOf(state, birdId), 'Saved', { ...entry.fields }, entry),
    /** Deletes a Bird log entry or notification. */
    deleteEntry(entryId: string): void {
      const entry = state.entries.find((one) => one.id === entryId && one.deletedAtUs === undefined);
      if (!entry) throw new NestwatchError('not_found', `there is no entry ${entryId}`);
      entry.deletedAtUs = state.nowUs();
      const list: Entry[] = entry.birdId ? birdOf(state, entry.birdId).logs : state.notifications;
      remove(list, createdAtOf, entry);
    },
  };
}

/** Throws `not_found` for a Bird that was deleted or never existed. */
export function birdOf(state: State, birdId: string): Bird {
  const bird = state.birds.get(birdId);
  if (!bird || bird.deletedAtUs !== undefined) {
    throw new NestwatchError('not_found', `there is no Bird ${birdId}`);
  }
  return bird;
}
