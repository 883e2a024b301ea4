/** Converts the times of a message to the time zone of its reader. Quoted text stays as it is. */
import { instantsIn } from '../../text/instant-words.ts';
import type { EventLine } from './event-line.ts';
import type { MailView } from './message-view.ts';

/** `zone` must be a valid time zone; without it the view stays in UTC. */
export function viewInZone(view: MailView, zone: string | undefined): MailView {
  if (zone === undefined) return view;
  const local = (text: string) => instantsIn(text, zone);
  const line = (one: EventLine) => ({ ...one, when: local(one.when) });
  return {
    ...view,
    headline: local(view.headline),
    context: local(view.context),
    lead: view.lead.map(local),
    notices: view.notices.map(local),
    details: view.details.map(([name, value]) => [name, local(value)] as const),
    clusters: view.clusters.map((one) => ({
      ...one,
      context: local(one.context),
      lines: one.lines.map(line),
    })),
    events: view.events.map(line),
    ...(view.sections && {
      sections: view.sections.map((section) => ({
        ...section,
        rows: section.rows.map((row) => ({ ...row, what: local(row.what), note: local(row.note) })),
      })),
    }),
  };
}
