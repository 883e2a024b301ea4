import { type Action, isOpen } from '../../../domain/action/action.ts';
import { type RowStatement, type Sql, upsertRows } from '../sql.ts';

const COLUMNS = 'id text, region text, bird_id text, open bigint, wanted_us bigint, body text';

const PUT = upsertRows('bird_action', COLUMNS, 'id');
const ADD: RowStatement = {
  columns: COLUMNS,
  text: (given) => `INSERT INTO bird_action (id, region, bird_id, open, wanted_us, body)
    SELECT * FROM ${given} WHERE true ON CONFLICT DO NOTHING`,
};

/** Stores what nestwatch does to the service. */
export function createActions(sql: Sql) {
  const read = async (where: string, ...values: readonly (string | number)[]) =>
    (await sql.rows<{ body: string }>(`SELECT body FROM bird_action WHERE ${where}`, ...values)).map(
      ({ body }) => JSON.parse(body) as Action,
    );
  return {
    /** Adds one. False, and nothing is added, if its id is known, or if it is open and so is another one of the Bird. */
    add: async (action: Action): Promise<boolean> => (await sql.write(ADD, [rowOf(action)])) > 0,
    /** Replaces those with these ids. */
    async put(actions: readonly Action[]): Promise<void> {
      await sql.write(PUT, actions.map(rowOf));
    },
    find: async (id: string): Promise<Action | undefined> => (await read('id = $1', id))[0],
    /** Those of a region that are open, oldest first. */
    open: (region: string): Promise<Action[]> =>
      read('region = $1 AND open = 1 ORDER BY wanted_us, id', region),
    /** Those of a region that were wanted since then, newest first. */
    since: (region: string, sinceUs: number): Promise<Action[]> =>
      read('wanted_us >= $2 AND region = $1 ORDER BY wanted_us DESC, id', region, sinceUs),
    /** Since when no rule may act, and who said so; undefined if rules may. */
    paused: () =>
      sql.first<{ atUs: number; by: string }>('SELECT at_us AS "atUs", who AS "by" FROM action_pause'),
    async putPause(pause: { readonly atUs: number; readonly by: string } | undefined): Promise<void> {
      await sql.run('DELETE FROM action_pause');
      if (pause) await sql.run('INSERT INTO action_pause (at_us, who) VALUES ($1, $2)', pause.atUs, pause.by);
    },
    /** The newest of a Bird, newest first. */
    ofBird: (region: string, birdId: string, limit: number): Promise<Action[]> =>
      read('region = $1 AND bird_id = $2 ORDER BY wanted_us DESC, id LIMIT $3', region, birdId, limit),
  };
}

function rowOf(action: Action) {
  const { id, region, birdId, wantedAtUs } = action;
  return [id, region, birdId, isOpen(action) ? 1 : 0, wantedAtUs, JSON.stringify(action)];
}
