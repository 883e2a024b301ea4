import { type Action, isOpen } from '../../../domain/action/action.ts';
import type { ActionStore } from '../../store.ts';
import { type RowStatement, type Sql, upsertRows } from '../sql.ts';

const COLUMNS = 'id text, region text, bird_id text, open bigint, wanted_us bigint, body text';

const PUT = upsertRows('bird_action', COLUMNS, 'id');
const ADD: RowStatement = {
  columns: COLUMNS,
  text: (given) => `INSERT INTO bird_action (id, region, bird_id, open, wanted_us, body)
    SELECT * FROM ${given} WHERE true ON CONFLICT DO NOTHING`,
};

export function createActions(sql: Sql): ActionStore {
  const read = async (where: string, ...values: readonly (string | number)[]) =>
    (await sql.rows<{ body: string }>(`SELECT body FROM bird_action WHERE ${where}`, ...values)).map(
      ({ body }) => JSON.parse(body) as Action,
    );
  return {
    add: async (action) => (await sql.write(ADD, [rowOf(action)])) > 0,
    async put(actions) {
      await sql.write(PUT, actions.map(rowOf));
    },
    find: async (id) => (await read('id = $1', id))[0],
    open: (region) => read('region = $1 AND open = 1 ORDER BY wanted_us, id', region),
    since: (region, sinceUs) =>
      read('wanted_us >= $2 AND region = $1 ORDER BY wanted_us DESC, id', region, sinceUs),
    async paused() {
      const row = await sql.first<{ at_us: number; who: string }>('SELECT at_us, who FROM action_pause');
      return row && { atUs: row.at_us, by: row.who };
    },
    async putPause(pause) {
      await sql.run('DELETE FROM action_pause');
      if (pause) await sql.run('INSERT INTO action_pause (at_us, who) VALUES ($1, $2)', pause.atUs, pause.by);
    },
    ofBird: (region, birdId, limit) =>
      read('region = $1 AND bird_id = $2 ORDER BY wanted_us DESC, id LIMIT $3', region, birdId, limit),
  };
}

function rowOf(action: Action) {
  const { id, region, birdId, wantedAtUs } = action;
  return [id, region, birdId, isOpen(action) ? 1 : 0, wantedAtUs, JSON.stringify(action)];
}
