/** Adds notes of people to alerts, whether they fire or are over. */
import { type Labels, MAX_NOTE_LENGTH, type Note } from '../domain/alert/alert.ts';
import type { Store } from '../store/store.ts';
import { manyLines } from '../text/plain-text.ts';
import type { Clock } from '../time/clock.ts';
import { alertOfEpisode, SHOWN_NOTES } from './alert-record.ts';
import type { FoundAlert } from './find-alert.ts';

export type WrittenNote = Pick<Note, 'author' | 'text' | 'isPublic'>;

type AddedNote = { readonly ok: true; readonly note: Note } | Extract<FoundAlert, { readonly ok: false }>;

export interface NoteWriter {
  add(alertId: string, written: WrittenNote): Promise<AddedNote>;
  /** Whether everybody may see the state of the alert's Nest, and so what is noted for everybody. */
  isOpen(labels: Labels): boolean;
}

interface NoteWriterOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Returns an unused id. */
  readonly newId: () => string;
  readonly isPublicNest: (name: string, nestId: string) => boolean;
}

export function createNoteWriter({ store, clock, newId, isPublicNest }: NoteWriterOptions): NoteWriter {
  const isOpen = ({ nest = '', nest_id: nestId }: Labels) =>
    nestId !== undefined && isPublicNest(nest, nestId);
  return {
    isOpen,
    async add(alertId, { author, text: typed, isPublic }) {
      const text = typed.replaceAll('\r\n', '\n').trim();
      if (manyLines(text, MAX_NOTE_LENGTH) === '') return refused('a note needs a text');
      if (text.length > MAX_NOTE_LENGTH) {
        return refused(`a note has at most ${MAX_NOTE_LENGTH} characters; this one has ${text.length}`);
      }
      return store.transaction(async (tx) => {
        const [last] = await tx.alerts.episodes(alertId, 1);
        const alert = (await tx.alerts.find(alertId)) ?? (last && alertOfEpisode(last));
        if (!alert) return { ok: false, problem: 'not_found', message: `there is no alert ${alertId}` };
        if (isPublic && !isOpen(alert.labels)) {
          return refused('no public page shows this alert: it is of no Nest that `web.public.nests` names');
        }
        if ((await tx.notes.ofAlert(alertId, SHOWN_NOTES)).length === SHOWN_NOTES) {
          return refused(`the alert has ${SHOWN_NOTES} notes already, the most that one may have`);
        }
        const { startsAtUs } = alert;
        const note = { id: newId(), alertId, startsAtUs, atUs: clock.nowUs(), author, text, isPublic };
        await tx.notes.add(note);
        return { ok: true, note };
      });
    },
  };
}

function refused(message: string): AddedNote {
  return { ok: false, problem: 'invalid', message };
}
