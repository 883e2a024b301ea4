/**
 * Decides whose turn it is among the deliveries of a lane, which are sent one after another. The turn belongs to the
 * lane's oldest unsettled delivery, unless another one of the lane is leased: that one keeps it until it settles.
 * `turn` is stored in the row and assigned again whenever a delivery of the lane settles. A lane belongs to one
 * integration of one receiver, so a slow integration never delays another. A delivery leaves its lane when only some
 * of its recipients have not accepted it, and when it fails alone (`delivery/isolated-failure.ts`).
 */
import type { DeliveryState, Lane } from '../../outbox-store.ts';
import { columnsOf, given, type Statements } from '../statements.ts';

/** The condition of the partial index `delivery_lane`. */
const UNSETTLED = "delivery.lane <> '' AND delivery.state IN ('pending', 'leased', 'retry', 'ambiguous')";
const UNSETTLED_STATES: readonly DeliveryState[] = ['pending', 'leased', 'retry', 'ambiguous'];

/**
 * True if nothing waits in the lane of a given delivery. `OFFSET 0` makes the server look up each lane by itself: it
 * would read those of all that waits, and then conflict with whatever is settled meanwhile.
 */
export const LANE_IS_FREE = `NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.receiver = given.receiver
  AND delivery.position = given.position AND delivery.lane = given.lane AND ${UNSETTLED} OFFSET 0)`;

const GIVEN = given('receiver text, position integer, lane text');

/** The positions, from 1, of the given lanes in which something is unsettled; `and` restricts what. */
function unsettled(and = ''): string {
  return `SELECT at FROM ${given('receiver text, position integer, lane text', { at: true })}
    WHERE EXISTS (SELECT 1 FROM delivery WHERE delivery.receiver = given.receiver
      AND delivery.position = given.position AND delivery.lane = given.lane AND ${UNSETTLED} ${and} OFFSET 0)
    ORDER BY at`;
}

const LISTS_ANY = `AND EXISTS (
  SELECT 1 FROM notified_alert JOIN alert ON alert.alert = notified_alert.alert
  WHERE notified_alert.notification = delivery.notification AND alert.id = ANY($4::text[]))`;

/** Gives each lane's turn to its leased delivery, or else to the oldest. */
const GIVE = `WITH lanes AS (SELECT DISTINCT receiver, position, lane FROM ${GIVEN}),
  next AS (
    SELECT DISTINCT ON (delivery.receiver, delivery.position, delivery.lane) delivery.seq
    FROM lanes JOIN delivery ON delivery.receiver = lanes.receiver AND delivery.position = lanes.position
      AND delivery.lane = lanes.lane
    WHERE ${UNSETTLED}
    ORDER BY delivery.receiver, delivery.position, delivery.lane, (delivery.state = 'leased') DESC, delivery.seq)
  UPDATE delivery SET turn = delivery.seq IN (SELECT seq FROM next)
  FROM lanes
  WHERE delivery.receiver = lanes.receiver AND delivery.position = lanes.position AND delivery.lane = lanes.lane
    AND ${UNSETTLED} AND delivery.turn <> (delivery.seq IN (SELECT seq FROM next))`;

export class PostgresLanes {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    this.#statements = statements;
  }

  /** Those of these lanes in which something is unsettled; with `alertIds`, that lists one of these alerts. */
  async unsettled(lanes: readonly Lane[], alertIds: readonly string[] | undefined): Promise<Lane[]> {
    if (lanes.length === 0) return [];
    const columns = columnsOf(3, lanes.map(valuesOf));
    const found = await (alertIds === undefined
      ? this.#statements.rows<{ at: number }>(unsettled(), ...columns)
      : this.#statements.rows<{ at: number }>(unsettled(LISTS_ANY), ...columns, alertIds));
    return found.map(({ at }) => lanes[at - 1]!);
  }

  /** Moves what is unsettled in these lanes to another lane of the same integration. */
  async join(lanes: readonly Lane[], into: string): Promise<void> {
    const [first] = lanes;
    if (!first) return;
    await this.#statements.run(
      `UPDATE delivery SET lane = $4 FROM ${GIVEN}
       WHERE delivery.receiver = given.receiver AND delivery.position = given.position
         AND delivery.lane = given.lane AND ${UNSETTLED}`,
      ...columnsOf(3, lanes.map(valuesOf)),
      into,
    );
    await this.giveTurns([{ ...first, lane: into }]);
  }

  /** Gives the turns of these lanes to the right deliveries after some have changed their states. */
  async giveTurns(lanes: readonly Lane[]): Promise<void> {
    const some = lanes.filter(({ lane }) => lane !== '');
    if (some.length > 0) await this.#statements.run(GIVE, ...columnsOf(3, some.map(valuesOf)));
  }
}

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

const valuesOf = ({ receiver, position, lane }: Lane) => [receiver, position, lane];
const nameOf = (lane: Lane) => JSON.stringify(valuesOf(lane));
