import type { Note } from '../../../domain/alert/alert.ts';
import { type Sql, upsertRows } from '../sql.ts';

const ADD = upsertRows(
  'alert_note',
  'id text, alert_id text, starts_us bigint, at_us bigint, author text, text text, is_public bigint',
  'id',
);

const FIELDS = `note.id, note.alert_id AS "alertId", note.starts_us AS "startsAtUs", note.at_us AS "atUs", note.author,
  note.text, note.is_public AS "isPublic"`;

const OF_ALERT = `SELECT ${FIELDS} FROM alert_note AS note WHERE alert_id = $1 ORDER BY at_us DESC, id DESC LIMIT $2`;

const PUBLIC = `SELECT ${FIELDS} FROM alert JOIN alert_note AS note
    ON note.alert_id = alert.id AND note.starts_us = alert.starts_us AND note.is_public = 1
  WHERE alert.state = 'firing' AND alert.region = $1 AND alert.nest_id = $2 AND NOT EXISTS (
    SELECT 1 FROM alert_note AS later WHERE later.alert_id = note.alert_id AND later.starts_us = note.starts_us
      AND later.is_public = 1 AND (later.at_us, later.id) > (note.at_us, note.id))
  ORDER BY note.at_us DESC, note.id DESC LIMIT $3`;

type NoteRow = Omit<Note, 'isPublic'> & { readonly isPublic: number };

/** Stores what people wrote about alerts. A note stays as long as the episode that it is about. */
export function createNotes(sql: Sql) {
  const notes = async (text: string, ...parameters: readonly (string | number)[]): Promise<Note[]> =>
    (await sql.rows<NoteRow>(text, ...parameters)).map((row) => ({ ...row, isPublic: row.isPublic === 1 }));

  return {
    async add({ id, alertId, startsAtUs, atUs, author, text, isPublic }: Note): Promise<void> {
      await sql.write(ADD, [[id, alertId, startsAtUs, atUs, author, text, isPublic ? 1 : 0]]);
    },
    /** The notes of all episodes that are stored, newest first. */
    ofAlert: (alertId: string, limit: number): Promise<Note[]> => notes(OF_ALERT, alertId, limit),
    /** Of each alert that fires in the Nest the newest public note of its current episode, newest first. */
    publicOf: (region: string, nestId: string, limit: number): Promise<Note[]> =>
      notes(PUBLIC, region, nestId, limit),
  };
}
