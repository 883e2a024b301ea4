/** What each version of the tables stores that the one before did not, for those who update; the first is version 1. */
const CHANGES = [
  'the first tables',
  'which silence belongs to which alert',
  'deadlines, the errors of failed Flights, and what Flights last wrote',
  'counts of Flights by half hour',
  'what the inventory listed last: members, and whether a Bird is published',
  'notes about alerts',
  'what nestwatch does to the service',
  'which browsers people subscribed to receivers',
  'counts of missed deadlines by half hour',
];

export const TABLES_VERSION = CHANGES.length;

/** One line for each version after `from`: `version 7: what nestwatch does to the service`. */
export function tableChanges(from: number): string[] {
  return CHANGES.slice(from).map((change, index) => `version ${from + index + 1}: ${change}`);
}
