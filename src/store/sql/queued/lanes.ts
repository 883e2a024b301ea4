/**
 * Decides whose turn it is among the deliveries of a lane, which are sent one after another. The turn belongs to the
 * lane's oldest unsettled delivery, unless another one of the lane is leased: that one keeps it until it settles.
 * `turn` is stored in the row and assigned again whenever a delivery of the lane settles. A lane belongs to one
 * integration of one receiver, so a slow integration never delays another. A delivery leaves its lane when only some
 * of its recipients have not accepted it, so that one full mailbox does not delay what is next for the others, and
 * when it alone fails again and again (`delivery/outbox.ts`).
 */
import type { DeliveryState, Lane } from '../../outbox-store.ts';
import { lastOfEach, type RowStatement, type Sql } from '../sql.ts';

/** The condition of the partial index `delivery_lane`; SQLite uses the index only if the text is identical. */
const UNSETTLED = "delivery.lane <> '' AND delivery.state IN ('pending', 'leased', 'retry', 'ambiguous')";
const IN_LANE = `delivery.receiver = given.receiver AND delivery.position = given.position AND delivery.lane = given.lane
  AND ${UNSETTLED}`;
const UNSETTLED_STATES: readonly DeliveryState[] = ['pending', 'leased', 'retry', 'ambiguous'];
const COLUMNS = 'receiver text, position integer, lane text';

/**
 * True if nothing waits in the lane of a given delivery. PostgreSQL looks up each lane by itself, since the answer is
 * compared: with `NOT EXISTS` it might read the lanes of all that waits, and then conflict with whatever is settled
 * meanwhile.
 */
export const LANE_IS_FREE = `(SELECT 1 FROM delivery WHERE ${IN_LANE} LIMIT 1) IS NULL`;

/** Whose turn it is: the leased delivery's, or else the oldest one's. */
const next = (given: string) => `WITH next AS MATERIALIZED (SELECT given.*, coalesce(
    (SELECT seq FROM delivery WHERE ${IN_LANE} AND delivery.turn = 1 AND delivery.state = 'leased' LIMIT 1),
    (SELECT min(seq) FROM (
      SELECT min(seq) AS seq FROM delivery WHERE ${IN_LANE} AND delivery.turn = 0
      UNION ALL SELECT min(seq) FROM delivery WHERE ${IN_LANE} AND delivery.turn = 1) AS oldest)) AS seq FROM ${given})`;

const LOSE: RowStatement = {
  columns: COLUMNS,
  text: (given) => `${next(given)} UPDATE delivery SET turn = 0 FROM next AS given
    WHERE ${IN_LANE} AND delivery.turn = 1 AND delivery.seq <> given.seq`,
};
const TAKE: RowStatement = {
  columns: COLUMNS,
  text: (given) =>
    `${next(given)} UPDATE delivery SET turn = 1 FROM next WHERE delivery.seq = next.seq AND delivery.turn = 0`,
};
const JOIN: RowStatement = {
  columns: `${COLUMNS}, into_lane text`,
  text: (given) => `UPDATE delivery SET lane = given.into_lane FROM ${given} WHERE ${IN_LANE}`,
};
const TAKEN: RowStatement = {
  columns: COLUMNS,
  text: (given) =>
    `SELECT receiver, position, lane FROM ${given} WHERE EXISTS (SELECT 1 FROM delivery WHERE ${IN_LANE})`,
};

/**
 * For each of these new deliveries, in their order, whether it is in no lane, or nothing waits in its lane before it
 * among these. If the lane is also free in the store (`LANE_IS_FREE`), it has its turn at once.
 */
export function firstInLanes(deliveries: readonly (Lane & { readonly state: DeliveryState })[]): boolean[] {
  const taken = new Set<string>();
  return deliveries.map((delivery) => {
    if (delivery.lane === '') return true;
    const name = nameOf(delivery);
    const isFirst = !taken.has(name);
    if (UNSETTLED_STATES.includes(delivery.state)) taken.add(name);
    return isFirst;
  });
}

export class SqlLanes {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Those of these lanes in which something is unsettled; with `alertIds`, that lists one of these alerts. */
  async unsettled(lanes: readonly Lane[], alertIds: readonly string[] | undefined): Promise<Lane[]> {
    const taken = await this.#sql.returning<Lane>(TAKEN, lanes.map(valuesOf));
    const names = new Set(taken.map(nameOf));
    const some = lanes.filter((lane) => names.has(nameOf(lane)));
    if (alertIds === undefined || some.length === 0) return some;
    const listing = await this.#sql.rows<Lane>(
      `SELECT DISTINCT receiver, position, lane FROM alert JOIN notified_alert USING (alert)
         JOIN delivery ON delivery.notification = notified_alert.notification
       WHERE alert.id = ANY($1::text[]) AND ${UNSETTLED}`,
      alertIds,
    );
    const listed = new Set(listing.map(nameOf));
    return some.filter((lane) => listed.has(nameOf(lane)));
  }

  /** Moves what is unsettled in these lanes to another lane of the same integration. */
  async join(lanes: readonly Lane[], into: string): Promise<void> {
    const [first] = lanes;
    if (!first) return;
    await this.#sql.write(
      JOIN,
      lanes.map((lane) => [...valuesOf(lane), into]),
    );
    await this.giveTurns([{ ...first, lane: into }]);
  }

  /** Gives the turns of these lanes to the right deliveries after some have changed their states. */
  async giveTurns(lanes: readonly Lane[]): Promise<void> {
    const some = lastOfEach(
      lanes.filter(({ lane }) => lane !== ''),
      nameOf,
    ).map(valuesOf);
    if (some.length === 0) return;
    await this.#sql.write(LOSE, some);
    await this.#sql.write(TAKE, some);
  }
}

const valuesOf = ({ receiver, position, lane }: Lane) => [receiver, position, lane];
const nameOf = (lane: Lane) => JSON.stringify(valuesOf(lane));
