/** Serves the lists of the JSON API that are read as they are stored, in pages. */
import type { Hono } from 'hono';
import { eventJson, wireText } from '../../domain/alert/event.ts';
import type { ListName } from '../../operator/lists.ts';
import { formatInstant } from '../../time/instant.ts';
import {
  listBirds,
  listContext,
  listDeliveries,
  listEvents,
  listFlights,
  listNests,
  listWrites,
  type ReadList,
} from '../requests/read-lists.ts';
import type { ApiOptions } from '../web-options.ts';
import { deliveryJson } from './alert-json.ts';
import { birdJson, flightJson, nestJson } from './bird-json.ts';

export const DEFAULT_LIMIT = 100;
/** All Birds of most installations. */
const DEFAULT_BIRDS = 1_000;

export function addLists(api: Hono, options: ApiOptions): void {
  const { serviceLinks, messages } = options;
  const add = <Item>(name: ListName, read: ReadList<Item>, json: (item: Item) => object) =>
    api.get(`/${name}`, async (c) => {
      const context = listContext(options, name === 'birds' ? DEFAULT_BIRDS : DEFAULT_LIMIT);
      const list = read(new URL(c.req.url).searchParams, context);
      const { items, next } = await options.store.transaction(list);
      return c.json({ [name]: items.map(json), ...(next !== undefined && { next }) });
    });
  add('birds', listBirds, (bird) => birdJson(bird, serviceLinks));
  add('flights', listFlights, (flight) => flightJson(flight, serviceLinks));
  add('nests', listNests, (nest) => nestJson(nest, serviceLinks));
  add('events', listEvents, eventJson);
  add('deliveries', listDeliveries, ({ about, aboutMore, ...delivery }) => ({
    ...deliveryJson(delivery, messages.nameOf),
    about: wireText(about),
    about_more: aboutMore,
  }));
  add('writes', listWrites, ({ atUs, ...write }) => ({ at: formatInstant(atUs), ...write }));
}
