import { NestwatchError } from '../../../errors.ts';
import type { Clock } from '../../../time/clock.ts';
import { versionOf } from '../../versions/steps.ts';
import { doneSteps } from '../migrate.ts';
import type { PostgresPlace } from '../postgres-client.ts';
import { Session } from '../session.ts';

export interface SnapshotOptions {
  readonly place: PostgresPlace;
  readonly clock: Clock;
  /** Whether nobody else may use the store meanwhile. */
  readonly alone: boolean;
}

/** The other side of a copy may take its time between two statements, and reading all rows takes longer than usual. */
export const PATIENCE = "SET idle_in_transaction_session_timeout = '10min'; SET tcp_user_timeout = '10min'";
const PATIENT_MS = 600_000;

export function patient(place: PostgresPlace): PostgresPlace {
  return { ...place, statementTimeoutMs: Math.max(place.statementTimeoutMs, PATIENT_MS) };
}

/**
 * Opens a snapshot of a store on a server: everything read from it is as of now, even while daemons use the store.
 * Throws `usage` if there is no store, and with `alone` `store_locked` while a daemon uses it.
 */
export async function openSnapshot({
  place,
  clock,
  alone,
}: SnapshotOptions): Promise<{ readonly session: Session; readonly version: number }> {
  let version = 0;
  const session: Session = new Session({
    place: patient(place),
    clock,
    isShared: false,
    isGuest: !alone,
    async prepare(statements) {
      version = versionOf(await doneSteps(statements, place.schema, place.shown));
      if (version === 0) throw new NestwatchError('usage', `there is no store at ${shownPlace(place)}`);
    },
  });
  try {
    await session.ready();
    await session.exec(`${PATIENCE}; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`);
    return { session, version };
  } catch (error) {
    await session.close();
    throw error;
  }
}

/** Names the schema, since a database may hold several stores. */
export function shownPlace({ shown, schema }: PostgresPlace): string {
  return `${shown}, schema ${schema}`;
}
