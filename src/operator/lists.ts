/** The lists that page, API and command show, and by what each can be narrowed down. */

/** The filters of every list of what the service has and does. `zone` is that of instants without an offset. */
export const FILTERS = [
  'region',
  'nest',
  'bird',
  'flight',
  'name',
  'severity',
  'text',
  'since',
  'until',
  'zone',
] as const;
export type FilterName = (typeof FILTERS)[number];

export const LISTS = {
  birds: [...FILTERS, 'status', 'standing'],
  nests: FILTERS,
  flights: [...FILTERS, 'status'],
  events: [...FILTERS, 'feed', 'type'],
  alerts: [...FILTERS, 'state', 'acknowledged', 'silenced', 'cause'],
  silences: FILTERS,
  deliveries: [...FILTERS, 'state', 'receiver'],
  writes: ['who', 'text', 'since', 'until', 'zone'],
} as const satisfies Readonly<Record<string, readonly string[]>>;
export type ListName = keyof typeof LISTS;

/** The statuses known today. Others that the service invents are kept as they come, so any may be asked for. */
export const STATUSES = {
  birds: ['active', 'unpublished', 'suspended'],
  flights: ['active', 'succeeded', 'failed', 'cancelled'],
} as const satisfies Partial<Record<ListName, readonly string[]>>;

/** Follows the words for an empty list, since a status that is not known is most often a mistyped one. */
export function statusNote(list: ListName, status: string | null): string {
  const known: readonly string[] = list === 'birds' || list === 'flights' ? STATUSES[list] : [];
  return !status || known.includes(status) ? '' : ` (Known statuses: ${known.join(', ')})`;
}

/** What people can narrow a list down by in a command, where instants without an offset are in UTC. */
export function filterNames(list: ListName): readonly string[] {
  return LISTS[list].filter((name) => name !== 'zone');
}
