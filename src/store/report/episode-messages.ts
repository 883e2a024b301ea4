/** Reads what was said in an episode of an alert, also after the alert itself was deleted. */
import type { Alert } from '../../domain/alert/alert.ts';
import type { Event } from '../../domain/alert/event.ts';
import type { Episode } from '../../domain/digest/digest.ts';
import type { Transaction } from '../store.ts';

/** The last message of an episode that ended; empty if there was none, or it is no longer kept. */
export async function messageOfEpisode(tx: Transaction, episode: Episode): Promise<string> {
  const alert = await tx.alerts.find(episode.alertId);
  const isLast = alert?.startsAtUs === episode.startsAtUs;
  const [last] = isLast ? await tx.alerts.events(alert.id, 0, 1, alert.lastSeq) : [];
  if (last?.event.message) return last.event.message;
  const [failure] = await failuresOf(tx, episode, 1);
  return failure?.message ?? (isLast ? (alert.annotations.description ?? '') : '');
}

/** Its failed Flights, newest first. */
export async function failuresOf(
  tx: Transaction,
  { labels, startsAtUs, endsAtUs }: Pick<Alert, 'labels' | 'startsAtUs' | 'endsAtUs'>,
  limit: number,
): Promise<Event[]> {
  const { region, bird_id: bird } = labels;
  if (bird === undefined) return [];
  const times = { sinceUs: startsAtUs, untilUs: endsAtUs + 1 };
  const { events } = await tx.events.page({ region, bird, type: 'flight.failed', ...times, limit });
  return events.filter(({ birdId }) => birdId === bird);
}
